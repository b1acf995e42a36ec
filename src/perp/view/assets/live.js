// A run that goes on: frames that the server hands out as they come, and commands that it is sent.
const CONTACT_WIDTH = 11;

class Growing {
  constructor(kind) { this.room = new kind(1024); this.size = 0; }

  add(values) {
    if (this.size + values.length > this.room.length) {
      const larger = new this.room.constructor(2 * (this.size + values.length));
      larger.set(this.room.subarray(0, this.size));
      this.room = larger;
    }
    this.room.set(values, this.size);
    this.size += values.length;
  }

  get values() { return this.room.subarray(0, this.size); }
}

class LiveFrames extends Frames {
  constructor() {
    super({ time: new Float32Array([0]), contact_state: [], force_largest: [1] });
    this.clear();
  }

  clear() {
    this.lists = { time: new Growing(Float64Array), pose: new Growing(Float32Array), contacts: new Growing(Float32Array) };
    for (const name of ["kinetic", "potential", "residual", "coulomb", ...HEADER.states.map((state) => `${state}_count`)]) {
      this.lists[name] = new Growing(Float32Array);
    }
    this.times = this.lists.time.values;
    this.starts = [0];
    this.largest = 0;
    this.count = 0;
  }

  // An answer of the server: frames one after the other, then their contacts.
  add(header, numbers) {
    const width = 5 + 7 * this.bodies;
    let at = header.frames * width;
    for (let k = 0; k < header.frames; k++) {
      const line = numbers.subarray(k * width, (k + 1) * width);
      // times of single precision, as the page shows them
      this.lists.time.add([line[0]]);
      ["kinetic", "potential", "residual", "coulomb"].forEach((name, i) => this.lists[name].add([line[1 + i]]));
      this.lists.pose.add(line.subarray(5));
      const rows = numbers.subarray(at, at + CONTACT_WIDTH * header.counts[k]);
      at += rows.length;
      this.lists.contacts.add(rows);
      this.starts.push(this.starts[this.starts.length - 1] + header.counts[k]);
      const states = [0, 0, 0];
      for (let c = 0; c < header.counts[k]; c++) {
        states[rows[CONTACT_WIDTH * c + 10] + 1]++;
        this.largest = Math.max(this.largest, Math.hypot(...rows.subarray(CONTACT_WIDTH * c + 6, CONTACT_WIDTH * c + 9)));
      }
      HEADER.states.forEach((name, i) => this.lists[`${name}_count`].add([states[i]]));
    }
    this.count += header.frames;
    this.times = this.lists.time.values;
    [this.begin, this.end] = [this.times[0], this.times[this.times.length - 1]];
    this.unitLength = this.arrowUnit();
  }

  curve(name) { return this.lists[name].values; }

  positionAt(frame, body, axis) { return this.lists.pose.room[7 * this.bodies * frame + 3 * body + axis]; }

  quaternionAt(frame, body) {
    const at = 7 * this.bodies * frame + 3 * this.bodies + 4 * body;
    return this.lists.pose.room.subarray(at, at + 4);
  }

  contactsAt(frame) { return [this.starts[frame], this.starts[frame + 1]]; }

  contactCount() { return this.lists ? this.starts[this.starts.length - 1] : 0; }

  largestForce() { return this.largest; }

  force(c) { return [...this.lists.contacts.room.subarray(CONTACT_WIDTH * c + 6, CONTACT_WIDTH * c + 9)]; }

  contact(c) {
    const v = this.lists.contacts.room.subarray(CONTACT_WIDTH * c, CONTACT_WIDTH * (c + 1));
    return { state: v[10] + 1, point: [v[0], v[1], v[2]], normal: [v[3], v[4], v[5]], force: [v[6], v[7], v[8]], friction: v[9] };
  }
}

// Asks the server for frames, and tells it what to do.
class Live {
  constructor(player) {
    this.player = player;
    this.run = 0;
    this.state = { playing: true, finished: false };
  }

  async poll() {
    const { frames } = this.player;
    const response = await fetch(`frames?run=${this.run}&after=${frames.count}`);
    if (!response.ok) throw new Error(`the server says ${response.status}`);
    const buffer = await response.arrayBuffer();
    const size = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    if (header.run !== this.run) frames.clear();
    const again = header.run !== this.run && this.run > 0;
    this.run = header.run;
    this.state = header;
    frames.add(header, new Float32Array(buffer, 4 + size));
    this.player.arrived(header, again);
    return header.frames;
  }

  async follow() {
    for (;;) {
      try {
        const got = await this.poll();
        if (this.state.finished && !this.state.again && !got) return;
        await new Promise((done) => setTimeout(done, this.state.playing ? 25 : this.state.finished ? 250 : 80));
      } catch (error) {
        this.state = { ...this.state, finished: true, playing: false };
        this.player.arrived({ ...this.state, problem: "the run has ended" }, false);
        return;
      }
    }
  }

  send(words) {
    return fetch("command", { method: "POST", headers: { "X-Perp": "1", "Content-Type": "application/json" }, body: JSON.stringify(words) });
  }
}
