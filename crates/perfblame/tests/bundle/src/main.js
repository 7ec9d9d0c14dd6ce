import { buildCatalogue } from './catalogue.js';
import { SearchIndex } from './index.js';
import { priceCart } from './pricing.js';
import { drawResults, drawTotal } from './draw.js';

function searchAll(index, products, queries) {
  const found = new Map();
  for (const query of queries) {
    for (const id of index.lookUp(query)) found.set(id, products[id]);
  }
  return [...found.values()];
}

function main() {
  const products = buildCatalogue(12000);
  const index = new SearchIndex(products);
  const queries = ['amber dune', 'cobalt ember', 'fjord granite', 'harbour basalt'];
  let results = [];
  for (let round = 0; round < 6; round++) results = searchAll(index, products, queries);
  drawResults(results);
  let total = 0;
  for (let round = 0; round < 20; round++) {
    total = priceCart(products, [{ kind: 'percent', value: 5 }, { kind: 'fixed', value: 2 }]);
  }
  drawTotal(total);
}

main();
