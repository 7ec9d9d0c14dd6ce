"""Formats statements."""
import sys

import sqlparse

STATEMENTS = [
    "select a.id, b.name, count(*) as n from orders a join customers b on a.customer = b.id where a.total > %d and "
    "b.name like 'x%%' group by a.id, b.name having count(*) > 2 order by n desc",
    "insert into log (at, what, who) values (%d, 'login', (select id from users where name = 'ann' limit 1))",
    "create table t%d (id integer primary key, name varchar(40) not null, made timestamp default now())",
    "update stock set left = left - 1, seen = case when left > 10 then 'many' else 'few' end where item in (1, 2, %d)",
]

length = 0
for number in range(int(sys.argv[1])):
    text = STATEMENTS[number % len(STATEMENTS)] % number
    length += len(sqlparse.format(text, reindent=True, keyword_case="upper", strip_comments=True))
print(length)
