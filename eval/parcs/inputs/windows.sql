CREATE TABLE reading(sensor INT, at INT, reading DOUBLE PRECISION);
INSERT INTO reading SELECT MOD(x, 8), x / 8, SIN(x / 50.0) * 10 FROM SYSTEM_RANGE(1, 3000);
WITH ranked AS (SELECT sensor, at, reading, RANK() OVER (PARTITION BY sensor ORDER BY reading DESC, at) AS place, AVG(reading) OVER (PARTITION BY sensor ORDER BY at ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS smooth FROM reading)
SELECT sensor, at, ROUND(smooth, 3) FROM ranked WHERE place <= 3 ORDER BY sensor, place;
WITH RECURSIVE chain(n, total) AS (SELECT 1, 1 UNION ALL SELECT n + 1, total + n FROM chain WHERE n < 200) SELECT MAX(total) FROM chain;
SELECT sensor, at, reading - LAG(reading) OVER (PARTITION BY sensor ORDER BY at) AS step FROM reading ORDER BY step DESC NULLS LAST, sensor, at LIMIT 5;
