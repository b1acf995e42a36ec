// Where everything is at a time: poses between two frames, contacts of the frame before.
class Frames {
  constructor(data) {
    this.data = data;
    this.bodies = HEADER.bodies.length;
    this.times = data.time;
    this.end = this.times[this.times.length - 1];
    this.begin = this.times[0];
    this.colors = HEADER.colors.map((name) => [1, 3, 5].map((i) => parseInt(name.slice(i, i + 2), 16) / 255));
    this.unitLength = this.arrowUnit();
  }

  // The last frame at or before a time, and how far it is to the next.
  locate(time) {
    let [low, high] = [0, this.times.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= time + 1e-7) low = middle;
      else high = middle - 1;
    }
    const next = Math.min(low + 1, this.times.length - 1);
    const span = this.times[next] - this.times[low];
    return { frame: low, next, share: span > 0 ? Math.min(Math.max((time - this.times[low]) / span, 0), 1) : 0 };
  }

  positionAt(frame, body, axis) {
    const { position, position_low, position_span } = this.data;
    const k = 3 * body + axis;
    return position_low[k] + ((position[3 * this.bodies * frame + k] + 32767) / 65534) * position_span[k];
  }

  quaternionAt(frame, body) {
    const at = 4 * (this.bodies * frame + body);
    return this.data.quaternion.subarray(at, at + 4);
  }

  pose(place, body) {
    if (body < 0) return [[0, 0, 0], [1, 0, 0, 0]];
    const { frame, next, share } = place;
    const x = [0, 1, 2].map((axis) => (1 - share) * this.positionAt(frame, body, axis) + share * this.positionAt(next, body, axis));
    const [a, b] = [this.quaternionAt(frame, body), this.quaternionAt(next, body)];
    const side = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
    const q = [0, 1, 2, 3].map((i) => (1 - share) * a[i] + side * share * b[i]);
    const size = Math.hypot(...q) || 1;
    return [x, q.map((value) => value / size)];
  }

  // Fill the copies of all shapes; planes without end are cut where they have faded away.
  placeBodies(place, groups, middle, reach) {
    const poses = [];
    for (let body = 0; body < this.bodies; body++) poses.push(this.pose(place, body));
    const world = this.pose(place, -1);
    for (const { mesh, body, local, members, kind } of groups) {
      members.forEach((member, k) => {
        const v = local.subarray(14 * member, 14 * member + 14);
        const [x, q] = body[member] < 0 ? world : poses[body[member]];
        const turn = multiply(q, [v[3], v[4], v[5], v[6]]);
        let origin = add(x, rotate(q, [v[0], v[1], v[2]]));
        const size = [v[7], v[8], v[9]];
        const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => rotate(turn, axis));
        if (kind === "plane") {
          const away = subtract(middle, origin);
          const slide = (i) => {
            const wanted = dot(away, axes[i]);
            if (size[i] === 0) size[i] = Infinity;
            const [low, high] = [Math.max(wanted - reach, -size[i]), Math.min(wanted + reach, size[i])];
            size[i] = Math.max((high - low) / 2, 1e-9);
            return scaled(axes[i], (high + low) / 2);
          };
          origin = add(origin, add(slide(0), slide(1)));
        }
        writeCopy(mesh.values, k, axes.map((axis, i) => scaled(axis, size[i])), origin, v.subarray(10, 14));
      });
    }
    return poses;
  }

  contactsAt(frame) {
    const { contact_start } = this.data;
    return [contact_start[frame], contact_start[frame + 1]];
  }

  force(c) {
    const s = this.data.force_largest[0] / 32767;
    return [0, 1, 2].map((i) => this.data.contact_force[3 * c + i] * s);
  }

  contactCount() {
    return this.data.contact_state.length;
  }

  largestForce() {
    return this.data.force_largest[0];
  }

  // One contact in numbers of the world.
  contact(c) {
    const { contact_point, contact_low, contact_span, contact_normal, contact_friction, contact_state } = this.data;
    return {
      state: contact_state[c] + 1,
      point: [0, 1, 2].map((i) => contact_low[i] + ((contact_point[3 * c + i] + 32767) / 65534) * contact_span[i]),
      normal: unit([0, 1, 2].map((i) => contact_normal[3 * c + i])),
      force: this.force(c),
      friction: contact_friction[c] / 3000,
    };
  }

  // Metres per newton such that a large force (the 90th percentile) is as long as a few bodies, or a third of the scene.
  arrowUnit() {
    const sizes = [];
    const count = this.contactCount();
    const skip = Math.max(1, Math.floor(count / 20000));
    for (let c = 0; c < count; c += skip) {
      const size = Math.hypot(...this.force(c));
      if (size > 1e-3 * this.largestForce()) sizes.push(size);
    }
    sizes.sort((a, b) => a - b);
    const large = sizes[Math.floor(0.9 * sizes.length)] || 1;
    return this.longArrow() / large;
  }

  longArrow() {
    return Math.min(0.4 * HEADER.radius, 2.5 * HEADER.body_size);
  }

  // Arrows, cones and dots of one frame; `stretch` is the user's choice of length.
  placeContacts(place, marks, show, stretch) {
    const frame = place.share > 0.5 ? place.next : place.frame;
    const [first, last] = this.contactsAt(frame);
    const metres = this.unitLength * stretch;
    const size = Math.min(0.12 * HEADER.radius, 0.5 * HEADER.body_size);
    const counts = [0, 0, 0];
    for (const mesh of Object.values(marks)) mesh.count = 0;
    for (let c = first; c < last; c++) {
      const { state, point, normal, force, friction } = this.contact(c);
      counts[state]++;
      const color = [...this.colors[state], 1];
      const deep = color.map((value, i) => (i < 3 ? 0.8 * value : value));
      // forces of impacts would leave the picture: beyond a long arrow, lengths grow with the logarithm
      const strength = Math.hypot(...force) * metres;
      const long = this.longArrow() * stretch;
      const shrink = strength > long ? (long / strength) * (1 + 0.25 * Math.log(strength / long)) : 1;
      const length = strength * shrink;
      if (show.forces) {
        const dotSize = size * (state === 0 ? 0.07 : 0.11);
        push(marks.dot, frameAlong(normal, dotSize, dotSize), point, color);
        if (length > 0.02 * size) push(marks.arrow, frameAlong(unit(force), Math.min(length, size), length), point, deep);
      }
      if (show.cones) {
        const height = Math.max(dot(force, normal) * metres * shrink, 0.12 * size);
        push(marks.cone, frameAlong(normal, friction * height, height), point, color);
      }
    }
    return counts;
  }
}

function writeCopy(values, k, axes, origin, color) {
  for (let i = 0; i < 3; i++) values.set([...axes[i], color[i]], 16 * k + 4 * i);
  values.set([...origin, color[3]], 16 * k + 12);
}

function push(mesh, axes, origin, color) {
  if (16 * (mesh.count + 1) > mesh.values.length) {
    const larger = new Float32Array(2 * mesh.values.length + 16);
    larger.set(mesh.values);
    mesh.values = larger;
  }
  writeCopy(mesh.values, mesh.count++, axes, origin, color);
}

const frameAlong = (z, width, length) => {
  const [x, y] = across(z);
  return [scaled(x, width), scaled(y, width), scaled(z, length)];
};
