"""The ads catalog: a made-up advertiser's wide table with its scenes, policies and vocabulary."""
