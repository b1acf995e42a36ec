// Draws copies of meshes with one sun, its shadows and a ground; contact marks shine through what hides them.
const SHADOW_SIZE = 2048;
const SUN = unit([0.35, -0.55, 1.0]);

class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This page needs WebGL 2, which this browser or computer does not offer.");
    this.gl = gl;
    this.programs = {
      shadow: this.program(SHADOW_VERTEX, SHADOW_FRAGMENT),
      body: this.program(BODY_VERTEX, BODY_FRAGMENT),
      ground: this.program(BODY_VERTEX, GROUND_FRAGMENT),
    };
    gl.vertexAttrib3f(6, 1, 1, 1); // meshes without a texture
    this.shadowMap();
  }

  program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name, type } = gl.getActiveUniform(program, i);
      places[name] = [gl.getUniformLocation(program, name), type];
    }
    return { program, places };
  }

  use({ program, places }, values) {
    const gl = this.gl;
    gl.useProgram(program);
    const setters = {
      [gl.FLOAT]: (at, v) => gl.uniform1f(at, v), [gl.FLOAT_VEC3]: (at, v) => gl.uniform3fv(at, v),
      [gl.FLOAT_VEC4]: (at, v) => gl.uniform4fv(at, v), [gl.FLOAT_MAT4]: (at, v) => gl.uniformMatrix4fv(at, false, v),
      [gl.SAMPLER_2D_SHADOW]: (at, v) => gl.uniform1i(at, v),
    };
    for (const [name, value] of Object.entries(values)) if (places[name]) setters[places[name][1]](places[name][0], value);
  }

  // A mesh with room for `count` copies; `update` fills 16 numbers a copy.
  // `tint`, if any, holds three bytes a vertex that colours are multiplied with.
  mesh(vertices, index, count, tint) {
    const gl = this.gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STATIC_DRAW);
    for (const [place, offset] of [[0, 0], [1, 12]]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 24, offset);
    }
    if (tint) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, tint, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(6);
      gl.vertexAttribPointer(6, 3, gl.UNSIGNED_BYTE, true, 3, 0);
    }
    const copies = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, copies);
    for (let k = 0; k < 4; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, 4, gl.FLOAT, false, 64, 16 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, index, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, copies, size: index.length, values: new Float32Array(16 * count), count };
  }

  draw(mesh) {
    if (!mesh.count) return;
    const gl = this.gl;
    gl.bindVertexArray(mesh.array);
    gl.drawElementsInstanced(gl.TRIANGLES, mesh.size, gl.UNSIGNED_INT, 0, mesh.count);
  }

  upload(mesh) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.copies);
    gl.bufferData(gl.ARRAY_BUFFER, mesh.values.subarray(0, 16 * mesh.count), gl.DYNAMIC_DRAW);
  }

  shadowMap() {
    const gl = this.gl;
    this.depth = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.depth);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.LINEAR);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    this.target = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.depth, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((n) => Math.max(1, Math.round(n * ratio)));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    return width / height;
  }

  // scene: { solids, glass, grounds, marks, veils }, lists of meshes; look: camera, theme and where the shadows fall.
  render(scene, look) {
    const gl = this.gl;
    const back = add(look.middle, scaled(SUN, 3 * look.radius));
    const light = product(orthographic(1.25 * look.radius, 0.01 * look.radius, 6 * look.radius), lookAt(back, look.middle, [0, 1, 0]));
    for (const mesh of Object.values(scene).flat()) this.upload(mesh);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.BLEND);
    this.use(this.programs.shadow, { light });
    for (const mesh of scene.solids) this.draw(mesh);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.bindTexture(gl.TEXTURE_2D, this.depth);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const shared = {
      camera: look.camera, eye: look.eye, light, shadows: 0, sun: SUN, texel: (2.5 * look.radius) / SHADOW_SIZE,
      opacity: 1, glow: 0, brightness: look.theme.brightness,
    };
    const body = (changes) => this.use(this.programs.body, { ...shared, ...changes });
    body({ opacity: look.opacity });
    gl.depthMask(look.opacity === 1);
    for (const mesh of scene.solids) this.draw(mesh);
    gl.depthMask(false);
    this.use(this.programs.ground, {
      ...shared, middle: look.middle, reach: look.reach, cell: look.cell, ground: look.theme.ground, line: look.theme.line,
    });
    for (const mesh of scene.grounds) this.draw(mesh);
    body({ opacity: 1 });
    for (const mesh of scene.glass) this.draw(mesh);
    // what bodies hide is seen faintly
    gl.depthFunc(gl.GREATER);
    body({ opacity: 0.45, glow: 0.8 });
    for (const mesh of scene.marks) this.draw(mesh);
    body({ opacity: 0.1, glow: 0.8 });
    for (const mesh of scene.veils) this.draw(mesh);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    body({ glow: 0.35 });
    for (const mesh of scene.marks) this.draw(mesh);
    gl.depthMask(false);
    body({ opacity: 0.26, glow: 0.6 });
    for (const mesh of scene.veils) this.draw(mesh);
    gl.depthMask(true);
  }
}
