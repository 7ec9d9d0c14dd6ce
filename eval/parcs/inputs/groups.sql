CREATE TABLE sale(id INT PRIMARY KEY, shop VARCHAR(20), price DECIMAL(10, 2), sold DATE);
INSERT INTO sale SELECT x, 'shop ' || MOD(x, 17), MOD(x * 7, 1000) / 10.0, DATEADD(DAY, MOD(x, 365), DATE '2023-01-01') FROM SYSTEM_RANGE(1, 5000);
SELECT shop, COUNT(*), SUM(price), AVG(price), MIN(sold), MAX(sold) FROM sale GROUP BY shop ORDER BY shop;
SELECT MONTH(sold), COUNT(DISTINCT shop), SUM(price) FROM sale GROUP BY MONTH(sold) HAVING SUM(price) > 100 ORDER BY 1;
