/* Renders one text again and again, with the extensions that are used most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmark-gfm-core-extensions.h"
#include "cmark-gfm.h"

static const char *SECTION =
    "Heading %d\n=====\n\nA paragraph with *emphasis*, **strong words**, `code`, a [link](/to/%d \"title\"),\n"
    "an ![image](a.png), <b>raw</b> html & entities &amp; &copy;; an escaped \\*star\\*, ~~gone~~ text\n"
    "and <http://example.org/>. It has [a reference][ref%d], www.example.org and ends  \nafter a break.\n\n"
    "- one\n- two with `code`\n    - nested *item*\n    - another\n\n      with a paragraph\n- [x] three\n\n"
    "1. first\n2. second\n\n> A quote with **strong** text\n> > and another\n\n```c\nint x = a < b;\n```\n\n"
    "| name | value |\n|------|------:|\n| a | *1* |\n| b | 2 |\n\n<div>\nblock\n</div>\n\n***\n\n"
    "[ref%d]: https://example.org/page?q=1&r=1 'Reference'\n\n";

int main(void) {
  size_t room = 1 << 20, length = 0, sum = 0;
  char *text = malloc(room);
  for (int n = 0; n < 200; n++)
    length += (size_t)snprintf(text + length, room - length, SECTION, n, n, n, n);
  cmark_gfm_core_extensions_ensure_registered();
  const char *names[] = {"table", "strikethrough", "autolink", "tagfilter", "tasklist"};
  for (int round = 0; round < 40; round++) {
    cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT | CMARK_OPT_SMART);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension(names[i]));
    cmark_parser_feed(parser, text, length);
    cmark_node *document = cmark_parser_finish(parser);
    char *html = cmark_render_html(document, CMARK_OPT_UNSAFE, cmark_parser_get_syntax_extensions(parser));
    char *common = cmark_render_commonmark(document, CMARK_OPT_DEFAULT, 80);
    for (char *at = html; *at; at++) sum = sum * 31 + (unsigned char)*at;
    for (char *at = common; *at; at++) sum = sum * 31 + (unsigned char)*at;
    free(html);
    free(common);
    cmark_node_free(document);
    cmark_parser_free(parser);
  }
  printf("%zx\n", sum);
  free(text);
  return 0;
}
