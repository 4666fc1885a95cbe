"""The time reader: what people say of dates and times, Chinese or English, to half-open spans.

spans      the door: a text to the spans it names, each with where it stands in the text
reading    from folded text to readings: pieces found by the tables, joined to phrases and ranges
chinese    a table of patterns, as are english and digits (which are the same in every language)
placing    where a phrase lies in time: alone, in a list, as an end of a range
parts      the calendar under all of them

Knows no field and no filter: what a span means for a column is `engine/timefilter.py`'s.
"""
