const RATES = { standard: 0.19, reduced: 0.07 };

function taxOf(product, kind) {
  return Math.round(product.price * RATES[kind] * 100) / 100;
}

export function priceCart(products, coupons) {
  let total = 0;
  for (const product of products) {
    let price = product.price + taxOf(product, product.id % 3 === 0 ? 'reduced' : 'standard');
    for (const coupon of coupons) {
      price = applyCoupon(price, coupon);
    }
    total += price;
  }
  return Math.round(total * 100) / 100;
}

function applyCoupon(price, coupon) {
  switch (coupon.kind) {
    case 'percent':
      return price * (1 - coupon.value / 100);
    case 'fixed':
      return Math.max(0, price - coupon.value);
    default:
      return price;
  }
}
