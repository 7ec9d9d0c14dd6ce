const handlers = {};

handlers.onResult = function (results) {
  return results.map((product) => `<li data-id="${product.id}">${escapeHtml(product.title)}</li>`).join('');
};

function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (sign) => '&#' + sign.charCodeAt(0) + ';');
}

export function drawResults(results) {
  document.getElementById('results').innerHTML = handlers.onResult(results);
}

export const drawTotal = (total) => {
  document.getElementById('total').textContent = `total: ${total.toFixed(2)}`;
};
