package recorded

import (
	"bytes"
	"os"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func BenchmarkRender(b *testing.B) {
	text, err := os.ReadFile("document.md")
	if err != nil {
		b.Fatal(err)
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
	for i := 0; i < b.N; i++ {
		var out bytes.Buffer
		if err := markdown.Convert(text, &out); err != nil {
			b.Fatal(err)
		}
	}
}
