# Lines of made-up words, the same each time.
BEGIN {
  srand(7)
  for (i = 0; i < lines; i++) {
    line = ""
    n = 5 + int(rand() * 10)
    for (j = 0; j < n; j++) {
      word = ""
      k = 2 + int(rand() * 7)
      for (c = 0; c < k; c++) word = word sprintf("%c", 97 + int(rand() * 26))
      line = line word (j % 5 == 4 ? ", " : " ") int(rand() * 900) " "
    }
    print line
  }
}
