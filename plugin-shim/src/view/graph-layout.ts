/** Places for the nodes of a small graph, the same each time. Pure. */

export interface Point {
  x: number;
  y: number;
}

const ROUNDS = 200;

/** Points with coordinates from 0 to 1: linked points are near each other, and none overlap. */
export function layout(count: number, edges: [number, number][]): Point[] {
  if (count === 1) return [{ x: 0.5, y: 0.5 }];
  const points = Array.from({ length: count }, (_, at) => {
    const angle = (2 * Math.PI * at) / count;
    return { x: 0.5 + 0.4 * Math.cos(angle), y: 0.5 + 0.4 * Math.sin(angle) };
  });
  const near = 0.7 / Math.sqrt(count);
  for (let round = 0; round < ROUNDS; round++) {
    const moves = points.map(() => ({ x: 0, y: 0 }));
    const push = (one: number, other: number, force: (far: number) => number): void => {
      const [a, b, move, back] = [points[one], points[other], moves[one], moves[other]];
      if (!a || !b || !move || !back) return;
      const far = Math.max(0.01, Math.hypot(a.x - b.x, a.y - b.y));
      const by = force(far) / far;
      move.x += (a.x - b.x) * by;
      move.y += (a.y - b.y) * by;
      back.x -= (a.x - b.x) * by;
      back.y -= (a.y - b.y) * by;
    };
    for (let one = 0; one < count; one++) for (let other = one + 1; other < count; other++) push(one, other, (far) => (near * near) / far);
    for (const [one, other] of edges) push(one, other, (far) => -(far * far) / near);
    // A pull to the centre keeps points without links in sight.
    points.forEach(({ x, y }, at) => {
      const move = moves[at];
      if (!move) return;
      move.x += 0.5 - x;
      move.y += 0.5 - y;
    });
    const most = 0.1 * (1 - round / ROUNDS);
    points.forEach((point, at) => {
      const { x, y } = moves[at] ?? { x: 0, y: 0 };
      const far = Math.max(1e-6, Math.hypot(x, y));
      point.x += (x / far) * Math.min(far, most);
      point.y += (y / far) * Math.min(far, most);
    });
  }
  // Stretched to the whole area.
  const span = (of: (point: Point) => number): ((value: number) => number) => {
    const [least, most] = [Math.min(...points.map(of)), Math.max(...points.map(of))];
    return (value) => (most - least < 1e-6 ? 0.5 : (value - least) / (most - least));
  };
  const [x, y] = [span((point) => point.x), span((point) => point.y)];
  return points.map((point) => ({ x: x(point.x), y: y(point.y) }));
}
