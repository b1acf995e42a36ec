// Pushes by the mouse: a body is taken hold of with Ctrl (or the hand), and follows the mouse as if by a spring.
class Pushing {
  constructor(player) { this.player = player; }

  // Whether a press takes hold of a body.
  grab(event) {
    if (!event.ctrlKey && element("hand").getAttribute("aria-pressed") !== "true") return false;
    const { eye, direction } = this.ray(event);
    const hit = this.nearest(eye, direction);
    if (!hit) return false;
    const [x, q] = this.player.poses[hit.body];
    const back = [q[0], -q[1], -q[2], -q[3]];
    const point = add(eye, scaled(direction, hit.distance));
    this.held = { body: hit.body, local: rotate(back, subtract(point, x)), target: point, normal: this.player.camera.back(), through: point };
    this.tell();
    return true;
  }

  drag(event) {
    const { eye, direction } = this.ray(event);
    const { normal, through } = this.held;
    const slope = dot(direction, normal);
    if (Math.abs(slope) < 1e-6) return;
    this.held.target = add(eye, scaled(direction, dot(subtract(through, eye), normal) / slope));
    this.tell();
  }

  release() {
    this.held = null;
    this.player.live.send({ kind: "release" });
    this.player.change();
  }

  tell() {
    const { body, local, target } = this.held;
    this.player.change();
    const now = performance.now();
    if (now - (this.told || 0) < 25) {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.held && this.tell(), 30);
      return;
    }
    this.told = now;
    this.player.live.send({ kind: "push", body, local, target });
  }

  ray(event) {
    const { camera, renderer } = this.player;
    const box = renderer.canvas.getBoundingClientRect();
    const [x, y] = [(2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height];
    const back = camera.back();
    const right = unit(cross([0, 0, 1], back));
    const tall = Math.tan(FIELD / 2);
    const direction = add(scaled(back, -1), add(scaled(right, x * tall * (box.width / box.height)), scaled(cross(back, right), y * tall)));
    return { eye: add(camera.target, scaled(back, camera.distance)), direction: unit(direction) };
  }

  // The nearest triangle of a body that moves.
  nearest(eye, direction) {
    let best = null;
    for (const { mesh, body, members, corners, index } of this.player.groups) {
      members.forEach((member, k) => {
        if (body[member] < 0) return;
        const v = mesh.values;
        const axes = [0, 1, 2].map((i) => [v[16 * k + 4 * i], v[16 * k + 4 * i + 1], v[16 * k + 4 * i + 2]]);
        const inside = (x) => axes.map((axis) => dot(x, axis) / (dot(axis, axis) || 1e-30));
        const [from, along] = [inside(subtract(eye, [v[16 * k + 12], v[16 * k + 13], v[16 * k + 14]])), inside(direction)];
        const distance = meets(from, along, corners, index);
        if (distance < (best ? best.distance : Infinity)) best = { body: body[member], distance };
      });
    }
    return best;
  }

  // An arrow from the body to the mouse.
  mark(poses, arrow) {
    if (!this.held) return;
    const [x, q] = poses[this.held.body];
    const point = add(x, rotate(q, this.held.local));
    const pull = subtract(this.held.target, point);
    const size = Math.hypot(...pull);
    if (size > 1e-9) push(arrow, frameAlong(unit(pull), Math.min(size, 0.1 * HEADER.radius), size), point, [0.9, 0.2, 0.25, 1]);
  }
}

// How far along a ray the nearest triangle is (Möller and Trumbore 1997).
function meets(from, along, corners, index) {
  const at = (i) => [corners[6 * i], corners[6 * i + 1], corners[6 * i + 2]];
  let best = Infinity;
  for (let t = 0; t < index.length; t += 3) {
    const a = at(index[t]);
    const [u, w] = [subtract(at(index[t + 1]), a), subtract(at(index[t + 2]), a)];
    const p = cross(along, w);
    const det = dot(u, p);
    if (Math.abs(det) < 1e-14) continue;
    const s = subtract(from, a);
    const b = dot(s, p) / det;
    if (b < 0 || b > 1) continue;
    const r = cross(s, u);
    const c = dot(along, r) / det;
    if (c < 0 || b + c > 1) continue;
    const distance = dot(w, r) / det;
    if (distance > 1e-9 && distance < best) best = distance;
  }
  return best;
}
