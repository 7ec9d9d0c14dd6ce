CREATE TABLE page(id INT PRIMARY KEY, title VARCHAR(100), body VARCHAR(1000));
INSERT INTO page SELECT x, 'Page ' || x, REPEAT('word' || MOD(x, 11) || ' ', 20) FROM SYSTEM_RANGE(1, 1500);
SELECT COUNT(*) FROM page WHERE body LIKE '%word7 word7%';
SELECT COUNT(*) FROM page WHERE REGEXP_LIKE(title, '^Page [0-9]*3$');
SELECT UPPER(SUBSTRING(title, 1, 4)), SUM(LENGTH(REPLACE(body, 'word', ''))) FROM page GROUP BY UPPER(SUBSTRING(title, 1, 4));
SELECT LISTAGG(title, ',') WITHIN GROUP (ORDER BY id DESC) FROM page WHERE id < 20;
SELECT JSON_OBJECT('id': id, 'title': title) FROM page WHERE MOD(id, 300) = 0 ORDER BY id;
