export class SearchIndex {
  constructor(products) {
    this.postings = new Map();
    products.forEach((product) => this.insertProduct(product));
  }

  insertProduct(product) {
    for (const term of tokenise(product.title)) {
      const list = this.postings.get(term) ?? [];
      list.push(product.id);
      this.postings.set(term, list);
    }
  }

  lookUp(query) {
    const lists = tokenise(query).map((term) => this.postings.get(term) ?? []);
    return intersect(lists);
  }
}

function tokenise(text) {
  return text.toLowerCase().split(/[^a-z0-9]+/).filter((term) => term.length > 1);
}

function intersect(lists) {
  if (lists.length === 0) return [];
  return lists.reduce((left, right) => {
    const wanted = new Set(right);
    return left.filter((id) => wanted.has(id));
  });
}
