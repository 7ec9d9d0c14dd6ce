/** What a change brought in: each result is compared with all others. */
export function rankByDistance(results) {
  const scores = results.map((result) => {
    let score = 0;
    for (const other of results) {
      score += Math.abs(result.title.length - other.title.length) * Math.sqrt(other.price + result.stock);
    }
    return { result, score };
  });
  scores.sort((one, other) => one.score - other.score || one.result.id - other.result.id);
  return scores.map((entry) => entry.result);
}
