-- One row for each of the 336,776 scheduled departures from JFK, LGA and EWR in 2013.
--
-- Times. The package gives clocks such as 517 (05:17), each local to its airport, and delays in minutes. Here every
-- *_at column is a timestamp on New York's clock, without a zone, so that differences are durations; every *_clock
-- column is the text HH:MM as the airport's own clock showed it.
--
-- Missing values stay missing: nothing is filled in. Values of bands say what they are of (strong wind, not strong), so
-- that a question which names one cannot mean another field.

-- When a local clock next shows a minute of the day, from a local time on.
CREATE TEMP MACRO next_showing(local_time, minute_of_day) AS
    CASE
        WHEN date_trunc('day', local_time) + to_minutes(minute_of_day) > local_time
            THEN date_trunc('day', local_time) + to_minutes(minute_of_day)
        ELSE date_trunc('day', local_time) + to_minutes(minute_of_day) + INTERVAL 1 DAY
    END;

CREATE TEMP MACRO clock(minute_of_day) AS
    format('{:02d}:{:02d}', minute_of_day // 60, minute_of_day % 60);

CREATE VIEW flights_wide AS
WITH

-- The package's airports end at the fifty states. These four destinations are in Puerto Rico and the Virgin Islands;
-- names, positions (degrees) and elevations (feet) are those that the FAA publishes.
island_airports(faa, name, lat, lon, alt, tzone) AS (
    VALUES
        ('BQN', 'Rafael Hernandez', 18.4949, -67.1294, 237, 'America/Puerto_Rico'),
        ('PSE', 'Mercedita', 18.0083, -66.5630, 29, 'America/Puerto_Rico'),
        ('SJU', 'Luis Munoz Marin Intl', 18.4394, -66.0018, 9, 'America/Puerto_Rico'),
        ('STT', 'Cyril E King', 18.3373, -64.9734, 23, 'America/St_Thomas')
),

airport AS (
    SELECT
        faa,
        replace(name, '\', '') AS name, -- one name carries stray backslashes: Martha\\'s Vineyard
        lat::DOUBLE AS lat,
        lon::DOUBLE AS lon,
        alt::INTEGER AS alt,
        tzone
    FROM airports
    UNION ALL
    SELECT faa, name, lat::DOUBLE, lon::DOUBLE, alt, tzone FROM island_airports
),

federal_holiday(day, holiday) AS (
    VALUES
        (DATE '2013-01-01', 'New Year''s Day'),
        (DATE '2013-01-21', 'Martin Luther King Day'),
        (DATE '2013-02-18', 'Presidents'' Day'),
        (DATE '2013-05-27', 'Memorial Day'),
        (DATE '2013-07-04', 'Independence Day'),
        (DATE '2013-09-02', 'Labor Day'),
        (DATE '2013-10-14', 'Columbus Day'),
        (DATE '2013-11-11', 'Veterans Day'),
        (DATE '2013-11-28', 'Thanksgiving'),
        (DATE '2013-12-25', 'Christmas Day')
),

plane AS (
    SELECT
        tailnum,
        year::SMALLINT AS aircraft_year,
        type AS aircraft_type,
        manufacturer AS aircraft_manufacturer,
        CASE -- as people name them: the register spells some makers in several ways
            WHEN manufacturer LIKE 'AIRBUS%' THEN 'Airbus'
            WHEN manufacturer = 'BOEING' THEN 'Boeing'
            WHEN manufacturer LIKE 'BOMBARDIER%' OR manufacturer LIKE 'CANADAIR%' THEN 'Bombardier'
            WHEN manufacturer = 'EMBRAER' THEN 'Embraer'
            WHEN manufacturer LIKE '%DOUGLAS%' THEN 'McDonnell Douglas'
            ELSE 'Other makers'
        END AS aircraft_maker,
        model AS aircraft_model,
        engines::SMALLINT AS aircraft_engines,
        engine AS aircraft_engine,
        seats::SMALLINT AS aircraft_seats,
        speed::SMALLINT AS aircraft_speed
    FROM planes
),

observation AS (
    SELECT
        origin,
        time_hour,
        temp::DECIMAL(5, 2) AS temp,
        dewp::DECIMAL(5, 2) AS dewp,
        humid::DECIMAL(5, 2) AS humid,
        wind_dir::SMALLINT AS wind_dir,
        wind_speed::DECIMAL(9, 5) AS wind_speed,
        wind_gust::DECIMAL(9, 5) AS wind_gust,
        precip::DECIMAL(4, 2) AS precip,
        pressure::DECIMAL(6, 1) AS pressure,
        visib::DECIMAL(4, 2) AS visib
    FROM weather
),

-- Types, and the clocks as minutes after midnight. The package writes midnight as 2400.
typed AS (
    SELECT
        make_date(year::INTEGER, month::INTEGER, day::INTEGER) AS flight_date,
        carrier,
        flight::SMALLINT AS flight,
        tailnum,
        origin,
        dest,
        sched_dep_time::INTEGER // 100 * 60 + sched_dep_time::INTEGER % 100 AS sched_dep_minute,
        sched_arr_time::INTEGER // 100 * 60 + sched_arr_time::INTEGER % 100 AS sched_arr_minute,
        dep_time::INTEGER % 2400 // 100 * 60 + dep_time::INTEGER % 100 AS dep_minute,
        arr_time::INTEGER % 2400 // 100 * 60 + arr_time::INTEGER % 100 AS arr_minute,
        dep_delay::SMALLINT AS dep_delay,
        arr_delay::SMALLINT AS arr_delay,
        air_time::SMALLINT AS air_time,
        distance::SMALLINT AS distance,
        hour::TINYINT AS hour,
        time_hour,
        CASE
            WHEN dep_time IS NULL THEN 'cancelled'
            WHEN arr_delay IS NULL THEN 'diverted'
            ELSE 'flown'
        END AS status
    FROM flights
),

-- Instants, as TIMESTAMPTZ. A flight arrives when the destination's clock next shows the scheduled time: none takes a day.
scheduled AS (
    SELECT
        typed.*,
        destination.tzone,
        (flight_date + to_minutes(sched_dep_minute)) AT TIME ZONE 'America/New_York' AS sched_dep,
        sched_dep AT TIME ZONE destination.tzone AS sched_dep_there,
        next_showing(sched_dep_there, sched_arr_minute) AT TIME ZONE destination.tzone AS sched_arr
    FROM typed
    JOIN airport AS destination ON destination.faa = typed.dest
),

timed AS (
    SELECT
        scheduled.*,
        sched_dep + to_minutes(dep_delay) AS dep,
        CASE -- 717 diverted flights reached their destination in the end: an arrival clock, and no arrival delay
            WHEN arr_delay IS NOT NULL THEN sched_arr + to_minutes(arr_delay)
            WHEN arr_minute IS NOT NULL THEN next_showing(dep AT TIME ZONE tzone, arr_minute) AT TIME ZONE tzone
        END AS arr
    FROM scheduled
)

SELECT
    -- The flight
    strftime(flight_date, '%Y%m%d') || '-' || carrier || flight || '-' || origin || '-' || dest AS flight_id,
    carrier || flight AS flight_code,
    flight,
    status,
    status = 'cancelled' AS cancelled,
    status = 'diverted' AS diverted,

    -- Calendar, by scheduled departure
    flight_date,
    year(flight_date)::SMALLINT AS year,
    'Q' || quarter(flight_date) AS quarter,
    month(flight_date)::TINYINT AS month,
    week(flight_date)::TINYINT AS week, -- ISO 8601: begins on Monday
    day(flight_date)::TINYINT AS day,
    dayname(flight_date) AS weekday,
    isodow(flight_date) >= 6 AS is_weekend,
    ['winter', 'spring', 'summer', 'autumn'][month(flight_date) % 12 // 3 + 1] AS season,
    holiday,
    holiday IS NOT NULL AS is_holiday,
    hour,
    CASE
        WHEN hour < 5 OR hour >= 22 THEN 'night'
        WHEN hour < 8 THEN 'early morning'
        WHEN hour < 12 THEN 'morning'
        WHEN hour < 17 THEN 'afternoon'
        ELSE 'evening'
    END AS hour_band,

    -- Times
    sched_dep AT TIME ZONE 'America/New_York' AS sched_dep_at,
    dep AT TIME ZONE 'America/New_York' AS dep_at,
    sched_arr AT TIME ZONE 'America/New_York' AS sched_arr_at,
    arr AT TIME ZONE 'America/New_York' AS arr_at,
    clock(sched_dep_minute) AS sched_dep_clock,
    clock(dep_minute) AS dep_clock,
    clock(sched_arr_minute) AS sched_arr_clock,
    clock(arr_minute) AS arr_clock,

    -- Delays and durations, in minutes
    dep_delay,
    arr_delay,
    CASE
        WHEN dep_delay < 0 THEN 'early'
        WHEN dep_delay < 15 THEN '0-14'
        WHEN dep_delay < 60 THEN '15-59'
        WHEN dep_delay < 120 THEN '60-119'
        WHEN dep_delay >= 120 THEN '120+'
    END AS dep_delay_band,
    CASE
        WHEN arr_delay < 0 THEN 'early'
        WHEN arr_delay < 15 THEN '0-14'
        WHEN arr_delay < 60 THEN '15-59'
        WHEN arr_delay < 120 THEN '60-119'
        WHEN arr_delay >= 120 THEN '120+'
    END AS arr_delay_band,
    (dep_delay - arr_delay)::SMALLINT AS time_made_up,
    air_time,
    date_diff('minute', sched_dep, sched_arr)::SMALLINT AS sched_elapsed,
    date_diff('minute', dep, arr)::SMALLINT AS elapsed,
    (elapsed - air_time)::SMALLINT AS ground_time,
    (distance * 60.0 / air_time)::DECIMAL(5, 1) AS speed,

    -- The carrier
    carrier,
    airlines.name AS carrier_name,
    CASE
        WHEN carrier IN ('AA', 'AS', 'DL', 'HA', 'UA', 'US') THEN 'network carrier'
        WHEN carrier IN ('B6', 'F9', 'FL', 'VX', 'WN') THEN 'low-cost carrier'
        WHEN carrier IN ('9E', 'EV', 'MQ', 'OO', 'YV') THEN 'regional carrier'
    END AS carrier_group,

    -- Airports and the route
    origin,
    start.name AS origin_name,
    start.lat AS origin_lat,
    start.lon AS origin_lon,
    start.alt AS origin_alt,
    start.tzone AS origin_zone,
    dest,
    destination.name AS dest_name,
    destination.lat AS dest_lat,
    destination.lon AS dest_lon,
    destination.alt AS dest_alt,
    destination.tzone AS dest_zone,
    origin || '-' || dest AS route,
    distance,
    CASE WHEN distance < 500 THEN 'short-haul' WHEN distance < 1500 THEN 'medium-haul' ELSE 'long-haul' END AS distance_band,

    -- The aircraft
    tailnum,
    plane.tailnum IS NOT NULL AS aircraft_known,
    aircraft_year,
    (year(flight_date) - aircraft_year)::SMALLINT AS aircraft_age,
    CASE
        WHEN aircraft_age < 5 THEN '0-4'
        WHEN aircraft_age < 10 THEN '5-9'
        WHEN aircraft_age < 15 THEN '10-14'
        WHEN aircraft_age < 20 THEN '15-19'
        WHEN aircraft_age >= 20 THEN '20+'
    END AS aircraft_age_band,
    aircraft_type,
    aircraft_maker,
    aircraft_manufacturer,
    aircraft_model,
    aircraft_engines,
    aircraft_engine,
    aircraft_seats,
    CASE
        WHEN aircraft_seats < 20 THEN 'small aircraft'
        WHEN aircraft_seats < 100 THEN 'regional aircraft'
        WHEN aircraft_seats < 200 THEN 'medium aircraft'
        WHEN aircraft_seats >= 200 THEN 'large aircraft'
    END AS aircraft_size,
    aircraft_speed,

    -- The weather at the origin in the hour of scheduled departure
    observation.origin IS NOT NULL AS weather_known,
    temp,
    CASE
        WHEN temp <= 32 THEN 'freezing'
        WHEN temp < 50 THEN 'cold'
        WHEN temp < 70 THEN 'mild'
        WHEN temp < 85 THEN 'warm'
        WHEN temp >= 85 THEN 'hot'
    END AS temp_band,
    dewp,
    humid,
    wind_dir,
    wind_speed,
    wind_gust,
    CASE -- Beaufort 0 to 3, 4 and 5, 6 and more
        WHEN wind_speed < 13 THEN 'light wind'
        WHEN wind_speed < 25 THEN 'moderate wind'
        WHEN wind_speed >= 25 THEN 'strong wind'
    END AS wind_band,
    precip,
    CASE -- intensities of the American Meteorological Society's glossary, in inches an hour
        WHEN precip = 0 THEN 'dry'
        WHEN precip <= 0.10 THEN 'light rain'
        WHEN precip <= 0.30 THEN 'moderate rain'
        WHEN precip > 0.30 THEN 'heavy rain'
    END AS precip_band,
    pressure,
    visib,
    CASE -- the FAA's flight categories, as far as visibility decides them: IFR, MVFR, VFR
        WHEN visib < 3 THEN 'low visibility'
        WHEN visib <= 5 THEN 'moderate visibility'
        WHEN visib > 5 THEN 'good visibility'
    END AS visib_band,
    visib < 3 OR precip > 0.10 OR wind_speed >= 25 AS bad_weather,

    -- 1 where the flight counts, else 0: what rates are sums of. A delay counts from 15 minutes on, as the DOT counts.
    (status = 'cancelled')::INTEGER AS cancelled_flights,
    (status <> 'cancelled')::INTEGER AS departed_flights,
    (status = 'diverted')::INTEGER AS diverted_flights,
    (status = 'flown')::INTEGER AS flown_flights,
    coalesce(dep_delay < 15, false)::INTEGER AS dep_on_time_flights,
    coalesce(dep_delay >= 15, false)::INTEGER AS dep_delayed_flights,
    coalesce(dep_delay >= 60, false)::INTEGER AS dep_long_delayed_flights,
    coalesce(arr_delay < 15, false)::INTEGER AS arr_on_time_flights,
    coalesce(arr_delay >= 15, false)::INTEGER AS arr_delayed_flights,
    coalesce(arr_delay >= 60, false)::INTEGER AS arr_long_delayed_flights,
    CASE WHEN status <> 'cancelled' THEN aircraft_seats END::INTEGER AS seats_offered
FROM timed
JOIN airlines USING (carrier)
JOIN airport AS start ON start.faa = timed.origin
JOIN airport AS destination ON destination.faa = timed.dest
LEFT JOIN plane USING (tailnum)
LEFT JOIN observation USING (origin, time_hour)
LEFT JOIN federal_holiday ON federal_holiday.day = timed.flight_date
ORDER BY flight_date, sched_dep_at, carrier, flight; -- these four tell every flight from every other
