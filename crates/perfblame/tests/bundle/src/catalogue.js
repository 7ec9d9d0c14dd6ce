const WORDS = ['amber', 'basalt', 'cobalt', 'dune', 'ember', 'fjord', 'granite', 'harbour'];

/** A generator of numbers that is the same everywhere. */
function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

export function buildCatalogue(count) {
  const random = createRandom(42);
  const products = [];
  for (let id = 0; id < count; id++) {
    const title = Array.from({ length: 4 }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
    products.push({ id, title, price: Math.round(random() * 9000) / 100, stock: Math.floor(random() * 20) });
  }
  return products;
}
