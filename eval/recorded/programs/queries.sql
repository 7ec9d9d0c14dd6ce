CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, region INTEGER, people INTEGER);
CREATE TABLE trip(id INTEGER PRIMARY KEY, here INTEGER, there INTEGER, km REAL, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO city SELECT i, 'city ' || (i * 7919 % 10007), i % 40, i * 104729 % 99991 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO trip SELECT i, i * 31 % 2000 + 1, i * 17 % 2000 + 1, i * 13 % 977, 'note ' || i % 101 FROM n;
CREATE INDEX trip_here ON trip(here);
CREATE INDEX city_region ON city(region, people);
SELECT region, count(*), avg(km), max(note) FROM trip JOIN city ON city.id = trip.here GROUP BY region ORDER BY 3;
SELECT name, sum(km) FROM city JOIN trip ON trip.there = city.id WHERE note LIKE '%7%' GROUP BY name ORDER BY 2 DESC LIMIT 20;
SELECT a.region, count(*) FROM city a JOIN trip ON trip.here = a.id JOIN city b ON b.id = trip.there WHERE a.people > b.people GROUP BY 1;
SELECT note, count(DISTINCT here), group_concat(substr(note, 1, 3)) FROM trip WHERE km > 300 GROUP BY note;
UPDATE trip SET note = upper(note) || km WHERE here % 3 = 0;
SELECT sum(length(replace(note, 'NOTE', 'remark'))) FROM trip;
SELECT name, people, rank() OVER (PARTITION BY region ORDER BY people DESC) FROM city ORDER BY name LIMIT 50;
