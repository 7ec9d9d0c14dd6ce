/* Runs the statements of a file, so often; with a third argument in a database on disk, each round a transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite3.h"

static long rows;

static int count_row(void *unused, int columns, char **values, char **names) {
  (void)unused; (void)columns; (void)values; (void)names;
  rows++;
  return 0;
}

static void run(sqlite3 *db, const char *sql) {
  char *error = NULL;
  if (sqlite3_exec(db, sql, count_row, NULL, &error) != SQLITE_OK) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
}

int main(int argc, char **argv) {
  static char text[1 << 16];
  FILE *file = fopen(argv[1], "r");
  size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  text[length] = 0;
  const char *path = argc > 3 ? argv[3] : ":memory:";
  for (int round = 0; round < (argc > 3 ? 1 : atoi(argv[2])); round++) {
    sqlite3 *db;
    if (argc > 3) remove(path);
    sqlite3_open(path, &db);
    run(db, text);
    for (int i = 0; argc > 3 && i < atoi(argv[2]); i++) {
      char sql[400];
      snprintf(sql, sizeof sql,
               "BEGIN; INSERT INTO log(what, amount) VALUES('row %d', %d); UPDATE log SET amount = amount + 1 "
               "WHERE id %% 7 = %d; SELECT what, sum(amount) FROM log GROUP BY what ORDER BY 2 LIMIT 5; COMMIT",
               i % 50, i, i % 7);
      run(db, sql);
    }
    sqlite3_close(db);
  }
  printf("%ld\n", rows);
  return 0;
}
