import java.util.zip.CRC32;

import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.commonmark.renderer.text.TextContentRenderer;

/** Renders one text again and again. */
public class Render {
    private static final String SECTION = "Heading %d\n=====\n\n"
            + "A paragraph with *emphasis*, **strong words**, `code`, a [link](/to/%d \"title\"),\n"
            + "an ![image](a.png), <b>raw</b> html & entities &amp; &copy;; an escaped \\*star\\*\n"
            + "and <http://example.org/>. It has [a reference][ref%d] and ends  \nafter a break.\n\n"
            + "- one\n- two with `code`\n    - nested *item*\n    - another\n\n      with a paragraph\n- three\n\n"
            + "1. first\n2. second\n\n> A quote with **strong** text\n> > and another\n\n"
            + "```c\nint x = a < b;\n```\n\n    indented code %d\n\n<div>\nblock\n</div>\n\n***\n\n"
            + "[ref%d]: https://example.org/page?q=1&r=1 'Reference'\n\n";

    public static void main(String[] arguments) {
        StringBuilder text = new StringBuilder();
        for (int n = 0; n < 100; n++) {
            text.append(SECTION.replace("%d", Integer.toString(n)));
        }
        String page = text.toString();
        Parser parser = Parser.builder().build();
        HtmlRenderer html = HtmlRenderer.builder().escapeHtml(true).sanitizeUrls(true).build();
        TextContentRenderer plain = TextContentRenderer.builder().build();
        CRC32 sum = new CRC32();
        int rounds = 200;
        for (int round = 0; round < rounds; round++) {
            Node document = parser.parse(page);
            sum.update(html.render(document).getBytes());
            sum.update(plain.render(document).getBytes());
        }
        System.out.println(Long.toHexString(sum.getValue()));
    }
}
