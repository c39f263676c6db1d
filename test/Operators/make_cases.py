"""Makes the cases of this folder: small models, random inputs, and what ONNX Runtime, or for operators that
are too new for it, ONNX's reference, gives for them.

usage: make_cases.py FOLDER [NAME...]   needs numpy, onnx, onnxruntime, and spillway-modelgen on the path
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx.reference
import onnxruntime

TYPES = {"float32": "f32", "float16": "f16", "float64": "f64", "int64": "i64", "int32": "i32", "int16": "i16",
         "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}
MS = "com.microsoft"


def tensor(array, name=None):
    array = np.asarray(array, order="C")
    made = {"type": TYPES[array.dtype.name], "dims": list(array.shape), "hex": array.tobytes().hex()}
    return {"name": name, **made} if name is not None else made


def nibbles(name, kind, dims, values):
    """An initializer of 4-bit integers."""
    values = [int(v) & 15 for v in np.ravel(values)]
    values += [0] * (len(values) % 2)
    raw = bytes(a | b << 4 for a, b in zip(values[::2], values[1::2]))
    return {"name": name, "type": kind, "dims": list(dims), "hex": raw.hex()}


def node(op, inputs, outputs, domain="", **attributes):
    return {"op": op, "in": inputs, "out": outputs, "domain": domain, "attributes": attributes}


def run_onnxruntime(file, outputs, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return session.run(outputs, inputs)


def run_reference(file, outputs, inputs):
    return onnx.reference.ReferenceEvaluator(file).run(outputs, inputs)


class Suite:
    def __init__(self, name, run=run_onnxruntime):
        self.name, self.cases, self.run = name, [], run
        self.rng = np.random.default_rng(7)

    def f32(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def ints(self, low, high, shape, dtype=np.int64):
        return self.rng.integers(low, high, shape).astype(dtype)

    def add(self, name, nodes, inputs, outputs, constants=(), opset=17):
        """Inputs and constants are arrays by name (constants may be tensors in JSON); outputs are names."""
        constants = dict(constants)
        graph = {"name": "main", "nodes": nodes,
                 "inputs": [{"name": n, "type": TYPES[a.dtype.name], "dims": list(a.shape)}
                            for n, a in inputs.items()],
                 "outputs": [{"name": n} for n in outputs],
                 "initializers": [v if isinstance(v, dict) else tensor(v, n) for n, v in constants.items()]}
        model = {"ir": 10, "opsets": {"": opset, **{n["domain"] or MS: 1 for n in nodes}}, "graph": graph}
        with tempfile.TemporaryDirectory() as folder:
            source, file = os.path.join(folder, "m.json"), os.path.join(folder, "m.onnx")
            with open(source, "w") as out:
                json.dump(model, out)
            subprocess.run(["spillway-modelgen", "json", source, file], check=True)
            try:
                results = self.run(file, outputs, inputs)
            except Exception as error:
                print(f"{self.name}/{name}: not made: {str(error).splitlines()[0][:300]}")
                return
        for output, result in zip(graph["outputs"], results):
            output["type"] = TYPES[result.dtype.name]
        self.cases.append({"name": name, "model": model, "inputs": [tensor(a) for a in inputs.values()],
                           "outputs": [tensor(np.asarray(r)) for r in results]})

    def one(self, name, op, inputs, num_outputs=1, constants=(), domain="", opset=17, wanted=None, **attributes):
        """A case of a single node. An input that is None is left out."""
        names = [n if a is not None else "" for n, a in inputs.items()]
        outputs = [f"y{i}" if wanted is None or i in wanted else "" for i in range(num_outputs)]
        given = {n: a for n, a in inputs.items() if a is not None and n not in constants}
        fixed = {n: inputs[n] for n in constants if inputs.get(n) is not None}
        self.add(name, [node(op, names, outputs, domain, **attributes)], given, [o for o in outputs if o], fixed, opset)

    def like(self, name, op, inputs, plain, domain="", **attributes):
        """The same for a form that ONNX Runtime lacks: it is to give what the `plain` inputs give."""
        self.one(name, op, plain, domain=domain, **attributes)
        case = self.cases[-1]
        case["inputs"] = [tensor(a) for a in inputs.values()]
        graph = case["model"]["graph"]
        graph["inputs"] = [{"name": n, "type": TYPES[a.dtype.name], "dims": list(a.shape)} for n, a in inputs.items()]
        graph["nodes"][0]["in"] = list(inputs)

    def write(self, folder):
        with open(os.path.join(folder, self.name + ".json"), "w") as out:
            for case in self.cases:
                out.write(json.dumps(case, separators=(",", ":")) + "\n")
        print(f"{self.name}: {len(self.cases)} cases")


def contrib():
    s = Suite("contrib")
    x = s.f32(2, 3, 8)
    row = lambda: s.f32(8)
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        s.one(op.lower(), op, {"x": x}, domain=MS)
    s.one("quickgelu_alpha", "QuickGelu", {"x": x}, domain=MS, alpha=0.5)
    s.one("fastgelu_bias", "FastGelu", {"x": x, "b": row()}, domain=MS)
    s.one("biasgelu", "BiasGelu", {"x": x, "b": row()}, domain=MS)
    for name, domain in (("simplified_norm", ""), ("simplified_norm_ms", MS)):
        if not domain:
            s.one(name, "SimplifiedLayerNormalization", {"x": x, "g": row()}, 2, epsilon=1e-6, axis=-1, stash_type=1)
    s.one("skip_norm", "SkipLayerNormalization", {"x": x, "s": s.f32(2, 3, 8), "g": row(), "b": row()}, domain=MS)
    s.one("skip_norm_all", "SkipLayerNormalization",
          {"x": x, "s": s.f32(2, 3, 8), "g": row(), "b": row(), "c": row()}, 4, domain=MS, wanted={0, 3}, epsilon=1e-3)
    s.one("skip_norm_no_beta", "SkipLayerNormalization",
          {"x": x, "s": s.f32(2, 3, 8), "g": row(), "b": None, "c": row()}, domain=MS)
    s.one("skip_norm_broadcast", "SkipLayerNormalization", {"x": x, "s": s.f32(1, 3, 8), "g": row(), "b": row()}, domain=MS)
    s.one("skip_norm_broadcast_2d", "SkipLayerNormalization", {"x": x, "s": s.f32(3, 8), "g": row(), "b": row()}, domain=MS)
    s.one("skip_norm_2d", "SkipLayerNormalization", {"x": s.f32(5, 8), "s": s.f32(5, 8), "g": row(), "b": row()}, domain=MS)
    s.one("skip_rms", "SkipSimplifiedLayerNormalization", {"x": x, "s": s.f32(2, 3, 8), "g": row()}, 4, domain=MS,
          wanted={0, 3}, epsilon=1e-5)
    s.one("skip_rms_bias", "SkipSimplifiedLayerNormalization",
          {"x": x, "s": s.f32(2, 3, 8), "g": row(), "b": row()}, 4, domain=MS, wanted={0, 3})

    ids, segments = s.ints(0, 11, (2, 4), np.int32), s.ints(0, 2, (2, 4), np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    tables = {"w": s.f32(11, 8), "p": s.f32(6, 8)}
    s.one("embed_norm", "EmbedLayerNormalization",
          {"ids": ids, "seg": segments, **tables, "t": s.f32(2, 8), "g": row(), "b": row(), "m": mask}, 3, domain=MS)
    s.one("embed_norm_positions", "EmbedLayerNormalization",
          {"ids": ids, "seg": None, **tables, "t": None, "g": row(), "b": row(), "m": None,
           "pos": s.ints(0, 6, (2, 4), np.int32)}, 2, domain=MS, epsilon=1e-3)
    s.one("embed_norm_weights", "EmbedLayerNormalization",
          {"ids": ids, "seg": segments, **tables, "t": s.f32(2, 8), "g": row(), "b": row()}, 2, domain=MS,
          constants=("w", "p", "t", "g", "b"))

    for a in (0, 1):
        for b in (0, 1):
            left, right = (s.f32(2, 3, 4, 5), s.f32(2, 3, 5, 6))
            s.one(f"fused_matmul_{a}{b}", "FusedMatMul",
                  {"a": left.swapaxes(2, 3) if a else left, "b": right.swapaxes(2, 3) if b else right},
                  domain=MS, alpha=0.5, transA=a, transB=b)
            # First dimension behind the batches.
            left, right = s.f32(4, 2, 3, 5), s.f32(5, 2, 3, 6)
            s.one(f"fused_matmul_batch_{a}{b}", "FusedMatMul",
                  {"a": s.f32(5, 2, 3, 4) if a else left,
                   "b": s.f32(6, 2, 3, 5) if b else right},
                  domain=MS, transA=a, transB=b, transBatchA=1, transBatchB=1)
    s.one("transpose_matmul", "TransposeMatMul", {"a": s.f32(4, 3), "b": s.f32(4, 5)}, domain=MS, transA=1, alpha=2.0)

    cos = lambda n, h: np.cos(np.outer(np.arange(n), 1.0 / (np.arange(h) + 1))).astype(np.float32)
    sin = lambda n, h: np.sin(np.outer(np.arange(n), 1.0 / (np.arange(h) + 1))).astype(np.float32)
    positions = s.ints(0, 10, (2, 3))
    for inter in (0, 1):
        s.one(f"rotary_{inter}", "RotaryEmbedding",
              {"x": s.f32(2, 3, 16), "p": positions, "c": cos(10, 4), "s": sin(10, 4)}, domain=MS, interleaved=inter)
        s.one(f"rotary_offset_{inter}", "RotaryEmbedding",
              {"x": s.f32(2, 3, 16), "p": np.array([4]), "c": cos(10, 4), "s": sin(10, 4)}, domain=MS, interleaved=inter)
        s.one(f"rotary_4d_{inter}", "RotaryEmbedding",
              {"x": s.f32(2, 2, 3, 8), "p": positions, "c": cos(10, 4), "s": sin(10, 4)}, domain=MS, interleaved=inter)
        s.one(f"rotary_partial_{inter}", "RotaryEmbedding",
              {"x": s.f32(2, 3, 16), "p": positions, "c": cos(10, 2), "s": sin(10, 2)}, domain=MS, interleaved=inter,
              num_heads=2, rotary_embedding_dim=4)

    # Attention with projections: 2 heads of 4, batch 2, 3 queries.
    w, b = s.f32(8, 24, scale=0.5), s.f32(24)
    base = {"x": x, "w": w, "b": b}
    s.one("attention", "Attention", base, domain=MS, num_heads=2)
    s.one("attention_no_bias", "Attention", {"x": x, "w": w}, domain=MS, num_heads=2)
    s.one("attention_causal", "Attention", base, domain=MS, num_heads=2, unidirectional=1)
    s.one("attention_scale", "Attention", base, domain=MS, num_heads=2, scale=0.3)
    s.one("attention_sizes", "Attention", {"x": x, "w": s.f32(8, 8 + 8 + 12, scale=0.5), "b": s.f32(28)},
          domain=MS, num_heads=2, qkv_hidden_sizes=[8, 8, 12])
    for name, m in (("lengths", np.array([2, 3])), ("ranges", np.array([2, 3, 1, 0])),
                    ("keys", np.array([[1, 1, 0], [1, 0, 1]])),
                    ("none_kept", np.array([[0, 0, 0], [1, 1, 1]])),
                    ("queries", s.ints(0, 2, (2, 3, 3)))):
        s.one(f"attention_mask_{name}", "Attention", {**base, "m": m.astype(np.int32)}, domain=MS, num_heads=2)
    s.one("attention_mask_causal", "Attention", {**base, "m": np.array([2, 3], np.int32)}, domain=MS, num_heads=2,
          unidirectional=1, mask_filter_value=-50.0)
    s.one("attention_past", "Attention", {**base, "m": None, "past": s.f32(2, 2, 2, 5, 4)}, 2, domain=MS, num_heads=2,
          unidirectional=1)
    s.one("attention_past_mask", "Attention",
          {**base, "m": np.array([[1] * 8, [0] * 3 + [1] * 5], np.int32), "past": s.f32(2, 2, 2, 5, 4)}, 2, domain=MS,
          num_heads=2)
    s.one("attention_score_bias", "Attention", {**base, "m": None, "past": None, "e": s.f32(1, 2, 3, 3)}, domain=MS,
          num_heads=2)

    q, k, v = s.f32(2, 3, 8), s.f32(2, 5, 8), s.f32(2, 5, 8)
    s.one("mha", "MultiHeadAttention", {"q": q, "k": k, "v": v}, domain=MS, num_heads=2)
    s.one("mha_bias", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": s.f32(24)}, domain=MS, num_heads=2, scale=0.7)
    s.one("mha_value_size", "MultiHeadAttention", {"q": q, "k": k, "v": s.f32(2, 5, 12), "b": s.f32(28)}, domain=MS, num_heads=2)
    s.one("mha_mask_keys", "MultiHeadAttention",
          {"q": q, "k": k, "v": v, "b": None, "m": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)}, domain=MS, num_heads=2)
    s.one("mha_mask_lengths", "MultiHeadAttention",
          {"q": q, "k": k, "v": v, "b": None, "m": np.array([3, 4], np.int32)}, domain=MS, num_heads=2)
    s.one("mha_score_bias", "MultiHeadAttention",
          {"q": q, "k": k, "v": v, "b": None, "m": None, "e": s.f32(2, 2, 3, 5)}, domain=MS, num_heads=2)
    # Packed forms, which ONNX Runtime has on GPUs alone, give what the plain one gives.
    apart = lambda packed, i: packed[:, :, :, i].reshape(*packed.shape[:2], -1)
    kv, qkv = s.f32(2, 5, 2, 2, 4), s.f32(2, 3, 2, 3, 4)
    s.like("mha_packed_kv", "MultiHeadAttention", {"q": q, "k": kv}, {"q": q, "k": apart(kv, 0), "v": apart(kv, 1)},
           domain=MS, num_heads=2)
    s.like("mha_packed_qkv", "MultiHeadAttention", {"q": qkv}, {"q": apart(qkv, 0), "k": apart(qkv, 1), "v": apart(qkv, 2)},
           domain=MS, num_heads=2)
    s.one("mha_heads", "MultiHeadAttention", {"q": q, "k": s.f32(2, 2, 5, 4), "v": s.f32(2, 2, 5, 4)}, domain=MS, num_heads=2)
    s.one("mha_causal", "MultiHeadAttention", {"q": q, "k": s.f32(2, 3, 8), "v": s.f32(2, 3, 8)}, domain=MS, num_heads=2, unidirectional=1)
    s.one("mha_past", "MultiHeadAttention",
          {"q": q, "k": s.f32(2, 3, 8), "v": s.f32(2, 3, 8), "b": s.f32(24), "m": None, "e": None,
           "pk": s.f32(2, 2, 4, 4), "pv": s.f32(2, 2, 4, 4)}, 3, domain=MS, num_heads=2)

    # Grouped queries: 4 heads in 2 groups; ONNX Runtime rotates sizes that are multiples of 16.
    heads, groups, size = 4, 2, 16
    def gqa(name, length, total, lengths, past=None, packed=False, rotary=False, bias=False, sink=False, positions=None, **attributes):
        batch = len(lengths)
        inputs = {"q": s.f32(batch, length, (heads + (2 * groups if packed else 0)) * size),
                  "k": None if packed else s.f32(batch, length, groups * size),
                  "v": None if packed else s.f32(batch, length, groups * size),
                  "pk": None if past is None else s.f32(batch, groups, past, size),
                  "pv": None if past is None else s.f32(batch, groups, past, size),
                  "lengths": np.array([n - 1 for n in lengths], np.int32),
                  "total": np.array(total, np.int32)}
        if rotary or bias or sink or positions is not None:
            inputs["cos"] = cos(32, size // 2) if rotary else None
            inputs["sin"] = sin(32, size // 2) if rotary else None
        if bias or sink or positions is not None:
            inputs["pos"] = positions
        if bias or sink:
            inputs["bias"] = s.f32(batch, heads, length, total) if bias else None
        if sink:
            inputs["sink"] = s.f32(heads)
        s.one(name, "GroupQueryAttention", inputs, 3, constants=("total",), domain=MS, num_heads=heads,
              kv_num_heads=groups, do_rotary=int(rotary), **attributes)

    gqa("gqa_prompt", 5, 5, [5, 5])
    gqa("gqa_prompt_packed", 5, 5, [5, 5], packed=True)
    gqa("gqa_prompt_rotary", 5, 5, [5], rotary=True)
    gqa("gqa_prompt_interleaved", 5, 5, [5], rotary=True, rotary_interleaved=1)
    gqa("gqa_prompt_window", 7, 7, [7], local_window_size=3)
    gqa("gqa_prompt_softcap", 5, 5, [5], softcap=2.0, scale=0.6)
    gqa("gqa_prompt_smooth", 5, 5, [5], smooth_softmax=1)
    gqa("gqa_prompt_sink", 5, 5, [5], sink=True)
    gqa("gqa_prompt_sink_bias_window", 7, 7, [7], sink=True, bias=True, local_window_size=2)
    gqa("gqa_prompt_bias", 5, 5, [5, 5], bias=True)
    gqa("gqa_prompt_empty_cache", 5, 5, [5, 5], past=0)
    gqa("gqa_step", 1, 7, [7, 7], past=6)
    gqa("gqa_step_ragged", 1, 7, [7, 4], past=6)
    gqa("gqa_step_capacity", 1, 7, [7, 4], past=12)
    gqa("gqa_step_rotary", 1, 7, [7, 5], past=6, rotary=True)
    gqa("gqa_step_packed", 1, 7, [7, 5], past=6, rotary=True, packed=True)
    gqa("gqa_step_window", 1, 9, [9], past=8, local_window_size=4)
    gqa("gqa_step_softcap", 1, 7, [7], past=6, softcap=1.5)
    gqa("gqa_step_bias", 1, 7, [7, 7], past=6, bias=True)
    gqa("gqa_step_sink", 1, 7, [7, 5], past=6, sink=True)
    gqa("gqa_step_smooth", 1, 7, [7, 5], past=6, smooth_softmax=1)
    gqa("gqa_chunk", 3, 8, [8], past=5)
    gqa("gqa_chunk_rotary", 3, 8, [8], past=5, rotary=True)
    gqa("gqa_chunk_window", 3, 8, [8], past=5, local_window_size=2)
    gqa("gqa_positions", 1, 7, [7, 5], past=6, rotary=True, positions=np.array([[2], [9]]))
    return s


def pack_bits(values, bits):
    """Rows of small integers, the first in the lowest bits."""
    per = 8 // bits
    values = np.asarray(values, np.uint8)
    pad = -values.shape[-1] % per
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)])
    parts = values.reshape(*values.shape[:-1], -1, per)
    return sum(parts[..., i] << (bits * i) for i in range(per)).astype(np.uint8)


def quantization():
    s = Suite("quantization")
    for dtype, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128), (np.uint16, 0, 65536), (np.int16, -32768, 32768)):
        name = np.dtype(dtype).name
        opset = 21 if "16" in name else 13
        x = s.f32(2, 3, 4, scale=60)
        point, scale = np.array(s.ints(low // 2, high // 2, ()), dtype), np.array(0.37, np.float32)
        s.one(f"quantize_{name}", "QuantizeLinear", {"x": x, "s": scale, "z": point}, opset=opset)
        s.one(f"dequantize_{name}", "DequantizeLinear", {"x": s.ints(low, high, (2, 3, 4), dtype), "s": scale, "z": point}, opset=opset)
        scales, points = np.abs(s.f32(3)) + 0.1, s.ints(low // 2, high // 2, (3,), dtype)
        s.one(f"quantize_axis_{name}", "QuantizeLinear", {"x": x, "s": scales, "z": points}, opset=opset, axis=1)
        s.one(f"dequantize_axis_{name}", "DequantizeLinear", {"x": s.ints(low, high, (2, 3, 4), dtype), "s": scales, "z": points},
              opset=opset, axis=-2)
        s.one(f"dequantize_no_zero_{name}", "DequantizeLinear", {"x": s.ints(low, high, (2, 3, 4), dtype), "s": scales}, opset=opset)
        blocks, zeros = np.abs(s.f32(2, 3, 2)) + 0.1, s.ints(low // 2, high // 2, (2, 3, 2), dtype)
        s.one(f"quantize_blocks_{name}", "QuantizeLinear", {"x": x, "s": blocks, "z": zeros}, opset=21, axis=2, block_size=2)
        s.one(f"dequantize_blocks_{name}", "DequantizeLinear", {"x": s.ints(low, high, (2, 3, 4), dtype), "s": blocks, "z": zeros},
              opset=21, axis=-1, block_size=2)
        s.one(f"quantize_to_{name}", "QuantizeLinear", {"x": x, "s": scale}, opset=21, output_dtype={"uint8": 2, "int8": 3, "uint16": 4, "int16": 5}[name])
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300, -300], np.float32)
    s.one("quantize_halves", "QuantizeLinear", {"x": halves, "s": np.array(1, np.float32), "z": np.array(0, np.int8)}, opset=10)
    s.one("quantize_no_zero", "QuantizeLinear", {"x": halves, "s": np.array(0.5, np.float32)}, opset=13)
    s.one("dequantize_i32", "DequantizeLinear", {"x": s.ints(-10**6, 10**6, (3, 4), np.int32), "s": np.array(0.01, np.float32)}, opset=10)
    s.one("quantize_f16", "QuantizeLinear", {"x": s.f32(3, 4, scale=20).astype(np.float16), "s": np.array(0.3, np.float16), "z": np.array(5, np.uint8)}, opset=19)
    s.one("dequantize_f16", "DequantizeLinear", {"x": s.ints(0, 256, (3, 4), np.uint8), "s": np.array(0.3, np.float16), "z": np.array(5, np.uint8)}, opset=19)
    s.one("dequantize_uneven_blocks", "DequantizeLinear", {"x": s.ints(-128, 128, (5, 2), np.int8), "s": np.abs(s.f32(2, 2)) + 0.1}, opset=21, axis=0, block_size=3)

    for name, x in (("mixed", s.f32(3, 5)), ("above", np.abs(s.f32(3, 5)) + 1), ("below", -np.abs(s.f32(7)) - 1), ("zeros", np.zeros((2, 2), np.float32))):
        s.one(f"dynamic_{name}", "DynamicQuantizeLinear", {"x": x}, 3, opset=11)

    for left, right in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        name = f"{np.dtype(left).name}_{np.dtype(right).name}"
        bounds = lambda t: (0, 256) if t == np.uint8 else (-128, 128)
        a, b = s.ints(*bounds(left), (2, 3, 4), left), s.ints(*bounds(right), (4, 5), right)
        s.one(f"matmul_integer_{name}", "MatMulInteger", {"a": a, "b": b}, opset=10)
        s.one(f"matmul_integer_zeros_{name}", "MatMulInteger", {"a": a, "b": b, "az": np.array(7, left), "bz": np.array(3, right)}, opset=10)
        s.one(f"matmul_integer_columns_{name}", "MatMulInteger",
              {"a": a, "b": b, "az": np.array(7, left), "bz": s.ints(0, 9, (5,), right)}, constants=("b", "bz"), opset=10)
        s.one(f"qlinear_matmul_{name}", "QLinearMatMul",
              {"a": a, "as": np.array(0.02, np.float32), "az": np.array(9, left), "b": b, "bs": np.array(0.03, np.float32),
               "bz": np.array(2, right), "ys": np.array(0.25, np.float32), "yz": np.array(11, left)}, opset=10)
        s.one(f"qlinear_matmul_columns_{name}", "QLinearMatMul",
              {"a": a, "as": np.array(0.02, np.float32), "az": np.array(9, left), "b": b, "bs": np.abs(s.f32(5)) * 0.05,
               "bz": s.ints(0, 3, (5,), right), "ys": np.array(0.25, np.float32), "yz": np.array(11, left)},
              constants=("b", "bs", "bz"), opset=10)
    for op in ("QLinearAdd", "QLinearMul"):
        s.one(op.lower(), op, {"a": s.ints(0, 256, (2, 3, 4), np.uint8), "as": np.array(0.02, np.float32), "az": np.array(120, np.uint8),
                               "b": s.ints(0, 256, (3, 1), np.uint8), "bs": np.array(0.03, np.float32), "bz": np.array(100, np.uint8),
                               "ys": np.array(0.05, np.float32), "yz": np.array(90, np.uint8)}, domain=MS)

    # 4-bit initializers: even and odd rows, signs, blocks, weights of a product.
    for kind, low in (("i4", -8), ("u4", 0)):
        for shape in ((3, 6), (3, 5), (15,)):
            w = nibbles("w", kind, shape, s.ints(low, low + 16, shape))
            tag = f"{kind}_{'x'.join(map(str, shape))}"
            s.add(f"dequantize_{tag}", [node("DequantizeLinear", ["w", "s", "z"], ["d"]), node("Add", ["d", "x"], ["y"])],
                  {"x": s.f32(*shape)}, ["y"], {"w": w, "s": np.array(0.3, np.float32), "z": nibbles("z", kind, (), [low + 3])}, opset=21)
        w = nibbles("w", kind, (8, 6), s.ints(low, low + 16, (8, 6)))
        s.add(f"matmul_{kind}_blocks", [node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0, block_size=4), node("MatMul", ["x", "d"], ["y"])],
              {"x": s.f32(3, 8)}, ["y"], {"w": w, "s": np.abs(s.f32(2, 6)), "z": nibbles("z", kind, (2, 6), s.ints(low, low + 16, (2, 6)))}, opset=21)
        s.add(f"requantize_{kind}", [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])],
              {"x": s.f32(3, 8, scale=3)}, ["y"], {"s": np.array(0.3, np.float32), "z": nibbles("z", kind, (), [low + 7])}, opset=21)

    # Weights of products stay small: per tensor, per column, transposed, several tiles of rows.
    for rows in (1, 7, 140):
        depth = 16 if rows > 100 else 40
        w = s.ints(-128, 128, (depth, 33), np.int8)
        s.add(f"matmul_i8_{rows}", [node("DequantizeLinear", ["w", "s"], ["d"], axis=1), node("MatMul", ["x", "d"], ["y"])],
              {"x": s.f32(rows, depth)}, ["y"], {"w": w, "s": np.abs(s.f32(33)) * 0.02})
        s.add(f"matmul_i8_transposed_{rows}",
              [node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0), node("Transpose", ["d"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["y"])],
              {"x": s.f32(rows, depth)}, ["y"], {"w": s.ints(-128, 128, (33, depth), np.int8), "s": np.abs(s.f32(33)) * 0.02, "z": s.ints(-9, 9, (33,), np.int8)})

    for bits in (4, 8):
        for rows, depth, columns, block in ((1, 64, 24, 16), (3, 96, 17, 32), (9, 40, 20, 16)):
            blocks = -(-depth // block)
            weights = s.ints(0, 1 << bits, (columns, blocks, block))
            packed = pack_bits(weights, bits)
            inputs = {"x": s.f32(2, rows, depth) if rows == 3 else s.f32(rows, depth), "w": packed, "s": np.abs(s.f32(columns, blocks)) * 0.1 + 0.01}
            tag = f"nbits{bits}_{rows}x{depth}x{columns}"
            attributes = dict(domain=MS, K=depth, N=columns, bits=bits, block_size=block)
            s.one(tag, "MatMulNBits", inputs, constants=("w", "s"), **attributes)
            zeros = pack_bits(s.ints(0, 1 << bits, (columns, blocks)), bits)
            s.one(tag + "_zeros", "MatMulNBits", {**inputs, "z": zeros}, constants=("w", "s", "z"), **attributes)
            s.one(tag + "_bias", "MatMulNBits", {**inputs, "z": None, "g": None, "b": s.f32(columns)}, constants=("w", "s", "b"), **attributes)
    s.one("nbits_many_rows", "MatMulNBits",
          {"x": s.f32(140, 32), "w": pack_bits(s.ints(0, 16, (17, 2, 16)), 4), "s": np.abs(s.f32(17, 2))},
          constants=("w", "s"), domain=MS, K=32, N=17, bits=4, block_size=16)
    s.one("nbits_float_zeros", "MatMulNBits",
          {"x": s.f32(2, 32), "w": pack_bits(s.ints(0, 16, (5, 2, 16)), 4), "s": np.abs(s.f32(5, 2)), "z": s.f32(5, 2, scale=4)},
          constants=("w", "s", "z"), domain=MS, K=32, N=5, bits=4, block_size=16)
    for bits in (4, 8):
        data = pack_bits(s.ints(0, 1 << bits, (10, 32)), bits)
        inputs = {"d": data, "i": s.ints(0, 10, (2, 3)), "s": np.abs(s.f32(10, 2)) * 0.1}
        s.one(f"gather_blocks_{bits}", "GatherBlockQuantized", inputs, constants=("d", "s"), domain=MS, block_size=16, bits=bits, gather_axis=0, quantize_axis=1)
        s.one(f"gather_blocks_zeros_{bits}", "GatherBlockQuantized", {**inputs, "z": pack_bits(s.ints(0, 1 << bits, (10, 2)), bits)},
              constants=("d", "s", "z"), domain=MS, block_size=16, bits=bits, gather_axis=0, quantize_axis=1)
    # ONNX Runtime adds two products of bytes in 16 bits on some machines: these stay inside.
    bias = s.ints(-500, 500, (5,), np.int32)
    for name, b, extra, attributes in (
            ("plain", s.ints(-64, 64, (4, 5), np.int8), {}, {}),
            ("columns", s.ints(-64, 64, (5, 4), np.int8), {"c": bias}, {"transB": 1}),
            ("levels", s.ints(0, 256, (4, 5), np.uint8), {"c": bias, "ys": np.array(0.3, np.float32), "yz": np.array(100, np.uint8)}, {"alpha": 0.5}),
            ("turned", s.ints(-64, 64, (5, 4), np.int8), {"c": bias[:1], "ys": np.array(0.2, np.float32), "yz": np.array(3, np.uint8)},
             {"transA": 1, "transB": 1})):
        many = name == "columns"
        inputs = {"a": s.ints(0, 256, (4, 3) if "transA" in attributes else (3, 4), np.uint8), "as": np.array(0.02, np.float32),
                  "az": np.array(9, np.uint8), "b": b, "bs": np.abs(s.f32(5)) * np.float32(0.05) if many else np.array(0.03, np.float32),
                  "bz": np.zeros(5, b.dtype) if many else np.array(2, b.dtype), **extra}
        s.one(f"qgemm_{name}", "QGemm", inputs, constants=("b", "bs", "bz", "c"), domain=MS, **attributes)
    return s


def recurrent():
    s = Suite("recurrent")
    length, batch, size, hidden = 5, 3, 4, 6
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        def layer(name, directions=1, bias=True, lengths=None, initial=False, peepholes=False, layout=0, steps=length, units=hidden,
                  fixed=True, wanted=None, **attributes):
            opset = 14 if layout else 7
            turn = lambda a: a.swapaxes(0, 1) if layout else a
            inputs = {"x": turn(s.f32(steps, batch, size)), "w": s.f32(directions, gates * units, size, scale=0.5),
                      "r": s.f32(directions, gates * units, units, scale=0.5),
                      "b": s.f32(directions, 2 * gates * units, scale=0.5) if bias else None,
                      "n": None if lengths is None else np.array(lengths, np.int32),
                      "h": turn(s.f32(directions, batch, units)) if initial else None}
            if op == "LSTM":
                inputs["c"] = turn(s.f32(directions, batch, units)) if initial else None
                inputs["p"] = s.f32(directions, 3 * units, scale=0.5) if peepholes else None
            while list(inputs.values())[-1] is None:
                inputs.popitem()
            inputs = {n: None if a is None else np.asarray(a, order="C") for n, a in inputs.items()}
            if layout:
                attributes["layout"] = 1
            s.one(f"{op.lower()}_{name}", op, inputs, outputs, constants=("w", "r", "b", "p") if fixed else (), opset=opset, hidden_size=units,
                  wanted=wanted, **attributes)
        layer("plain", bias=False)
        layer("bias")
        layer("weights_given", fixed=False)
        layer("reverse", direction="reverse", initial=True)
        layer("both", 2, direction="bidirectional", initial=True)
        layer("lengths", lengths=[5, 2, 1])
        layer("lengths_both", 2, direction="bidirectional", lengths=[3, 5, 1], initial=True)
        layer("clip", clip=0.4)
        layer("last_only", wanted={1})
        layer("one_step", steps=1, initial=True)
        layer("long", steps=40, units=16)
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        for function in ("Relu", "Softsign", "Softplus"):
            layer(function.lower(), activations=[function] * each)
        layer("hardsigmoid", activations=["HardSigmoid"] * each, activation_alpha=[0.3, 0.25, 0.15][:each], activation_beta=[0.4, 0.55, 0.6][:each])
        layer("leaky", activations=["LeakyRelu"] + ["Tanh"] * (each - 1), activation_alpha=[0.3])
        layer("scaledtanh", activations=["ScaledTanh"] * each, activation_alpha=[0.8, 1.2, 0.9][:each], activation_beta=[0.7, 0.6, 1.1][:each])
        layer("affine", activations=["Affine"] + ["Tanh"] * (each - 1), activation_alpha=[0.4], activation_beta=[0.1])
        layer("elu", activations=["Elu"] * each, activation_alpha=[0.7, 0.9, 1.1][:each])
        layer("two_sets", 2, direction="bidirectional", activations=(["Sigmoid", "Tanh", "Relu"][:each] + ["Tanh", "Sigmoid", "Tanh"][:each]))
        if op == "GRU":
            layer("linear_before_reset", linear_before_reset=1)
            layer("linear_before_reset_both", 2, linear_before_reset=1, direction="bidirectional", initial=True)
            layer("linear_before_reset_no_bias", linear_before_reset=1, bias=False)
        if op == "LSTM":
            layer("peepholes", peepholes=True, initial=True)
            layer("peepholes_both", 2, peepholes=True, initial=True, direction="bidirectional")
            layer("input_forget", input_forget=1, initial=True)
    return s


def graph(name, nodes, inputs, outputs, initializers=()):
    value = lambda v: {"name": v[0], "type": v[1], "dims": v[2]} if isinstance(v, tuple) else {"name": v, "type": "f32"}
    return {"graph": {"name": name, "nodes": nodes, "inputs": [value(v) for v in inputs], "outputs": [value(v) for v in outputs],
                      "initializers": [tensor(a, n) for n, a in dict(initializers).items()]}}


def control_flow():
    s = Suite("control-flow")
    f, flag = np.float32, lambda v: np.array(v, np.bool_)
    branches = dict(then_branch=graph("t", [node("Mul", ["x", "x"], ["a"])], [], ["a"]),
                    else_branch=graph("e", [node("Neg", ["x"], ["n"]), node("Sub", ["n", "one"], ["b"])], [], ["b"], {"one": np.ones(1, f)}))
    for value in (True, False):
        s.add(f"if_constant_{value}", [node("If", ["c"], ["y"], **branches)], {"x": s.f32(2, 3)}, ["y"], {"c": flag(value)})
        s.add(f"if_input_{value}", [node("If", ["c"], ["y"], **branches)], {"c": flag(value), "x": s.f32(2, 3)}, ["y"])
        s.add(f"if_vector_{value}", [node("If", ["c"], ["y"], **branches)], {"c": flag([value]), "x": s.f32(2, 3)}, ["y"])
    other = dict(then_branch=graph("t", [node("Identity", ["x"], ["a"])], [], ["a"]),
                 else_branch=graph("e", [node("ReduceSum", ["x"], ["b"], keepdims=0)], [], ["b"]))
    s.add("if_ranks_differ", [node("If", ["c"], ["y"], **other)], {"x": s.f32(2, 3)}, ["y"], {"c": flag(False)})
    inner = dict(then_branch=graph("ti", [node("Add", ["a", "x"], ["i1"])], [], ["i1"]), else_branch=graph("ei", [node("Identity", ["a"], ["i2"])], [], ["i2"]))
    nested = dict(then_branch=graph("t", [node("Exp", ["x"], ["a"]), node("If", ["d"], ["r"], **inner)], [], ["r"]),
                  else_branch=graph("e", [node("Identity", ["x"], ["b"])], [], ["b"]))
    for c in (True, False):
        for d in (True, False):
            s.add(f"if_nested_{c}_{d}", [node("If", ["c"], ["y"], **nested)], {"c": flag(c), "d": flag(d), "x": s.f32(2, 3)}, ["y"])
    shape = dict(then_branch=graph("t", [node("Squeeze", ["x", "zero"], ["a"])], [], ["a"], {"zero": np.array([0])}),
                 else_branch=graph("e", [node("Identity", ["x"], ["b"])], [], ["b"]))
    s.add("if_on_shape", [node("Shape", ["x"], ["sh"]), node("Gather", ["sh", "i"], ["d"]), node("Equal", ["d", "one"], ["c"]), node("If", ["c"], ["y"], **shape)],
          {"x": s.f32(1, 3)}, ["y"], {"i": np.array(0), "one": np.array(1)})

    def body(nodes, carried, outputs, initializers=(), scans=()):
        return graph("body", nodes, [("i", "i64", []), ("ci", "bool", [])] + [(c, "f32", [2, 3]) for c in carried],
                     [("co", "bool", [])] + list(outputs) + list(scans), initializers)
    double = body([node("Identity", ["ci"], ["co"]), node("Add", ["v", "v"], ["w"])], ["v"], ["w"])
    for trips in (0, 1, 5):
        s.add(f"loop_{trips}", [node("Loop", ["m", "c", "v0"], ["y"], body=double)], {"v0": s.f32(2, 3)}, ["y"], {"m": np.array(trips), "c": flag(True)})
    s.add("loop_no_condition", [node("Loop", ["m", "", "v0"], ["y"], body=double)], {"v0": s.f32(2, 3)}, ["y"], {"m": np.array(4)})
    s.add("loop_false", [node("Loop", ["m", "c", "v0"], ["y"], body=double)], {"v0": s.f32(2, 3)}, ["y"], {"m": np.array(4), "c": flag(False)})
    scan = body([node("Identity", ["ci"], ["co"]), node("Add", ["v", "x"], ["w"]), node("Cast", ["i"], ["fi"], to=1), node("Mul", ["w", "fi"], ["z"])], ["v"], ["w"], scans=["z"])
    for trips in (1, 3, 20):
        s.add(f"loop_scan_{trips}", [node("Loop", ["m", "c", "v0"], ["y", "z"], body=scan)], {"v0": s.f32(2, 3), "x": s.f32(2, 3)}, ["y", "z"], {"m": np.array(trips), "c": flag(True)})
    counted = body([node("Less", ["i", "limit"], ["co"]), node("Add", ["v", "v"], ["w"])], ["v"], ["w"], {"limit": np.array(3)})
    s.add("loop_no_trip_count", [node("Loop", ["", "c", "v0"], ["y"], body=counted)], {"v0": s.f32(2, 3)}, ["y"], {"c": flag(True)})
    stops = body([node("Add", ["v", "v"], ["w"]), node("ReduceSum", ["w"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["co"])], ["v"], ["w"], {"limit": np.array(40, f)})
    s.add("loop_stops_early", [node("Loop", ["m", "c", "v0"], ["y"], body=stops)], {"v0": np.abs(s.f32(2, 3))}, ["y"], {"m": np.array(9), "c": flag(True)})
    s.add("loop_may_not_start", [node("Loop", ["m", "c", "v0"], ["y"], body=stops)], {"c": flag(False), "v0": np.abs(s.f32(2, 3))}, ["y"], {"m": np.array(9)})
    swap = body([node("Identity", ["ci"], ["co"]), node("Identity", ["b"], ["p"]), node("Add", ["a", "b"], ["q"])], ["a", "b"], ["p", "q"])
    s.add("loop_fibonacci", [node("Loop", ["m", "c", "a0", "b0"], ["p", "q"], body=swap)], {"a0": s.f32(2, 3), "b0": s.f32(2, 3)}, ["p", "q"], {"m": np.array(6), "c": flag(True)})
    pick = body([node("Identity", ["ci"], ["co"]), node("Gather", ["x", "i"], ["row"]), node("Add", ["v", "row"], ["w"])], ["v"], ["w"])
    s.add("loop_picks_rows", [node("Loop", ["m", "c", "v0"], ["y"], body=pick)], {"v0": s.f32(2, 3), "x": s.f32(4, 3)}, ["y"], {"m": np.array(4), "c": flag(True)})

    def scan_body(result="r"):
        return graph("body", [node("Add", ["h", "e"], ["n"]), node("Mul", ["n", "e"], [result])], [("h", "f32", [3]), ("e", "f32", [3])],
                     [("n", "f32", [3]), (result, "f32", [3])])
    for length in (1, 4, 20):
        s.add(f"scan_{length}", [node("Scan", ["h", "x"], ["n", "r"], num_scan_inputs=1, body=scan_body())], {"h": s.f32(3), "x": s.f32(length, 3)}, ["n", "r"])
    s.add("scan_reverse", [node("Scan", ["h", "x"], ["n", "r"], num_scan_inputs=1, body=scan_body(), scan_input_directions=[1], scan_output_directions=[1])],
          {"h": s.f32(3), "x": s.f32(4, 3)}, ["n", "r"])
    s.add("scan_axes", [node("Scan", ["h", "x"], ["n", "r"], num_scan_inputs=1, body=scan_body(), scan_input_axes=[1], scan_output_axes=[-1])],
          {"h": s.f32(3), "x": s.f32(3, 4)}, ["n", "r"])
    s.add("scan_8", [node("Scan", ["", "h", "x"], ["n", "r"], num_scan_inputs=1, body=scan_body())], {"h": s.f32(2, 3), "x": s.f32(2, 4, 3)}, ["n", "r"], opset=8)
    return s


def quantized_images():
    s = Suite("quantized_images")
    f = lambda *values: np.array(values if len(values) > 1 else values[0], np.float32)
    for left, right in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        name = f"{np.dtype(left).name}_{np.dtype(right).name}"
        bounds = lambda t: (0, 256) if t == np.uint8 else (-128, 128)
        # Where the types differ, ONNX Runtime saturates sums of two products in 16 bits: weights of 7 bits do not reach that.
        x = s.ints(*bounds(left), (2, 4, 7, 6), left)
        w = s.ints(*(bounds(right) if left == right else (-64, 64)), (6, 4, 3, 3), right)
        one, each = {"ws": f(0.01), "wz": np.array(3, right)}, {"ws": np.abs(s.f32(6)) * 0.02, "wz": np.full(6, 2, right)}
        for kind, weight in (("one", one), ("each", each)):
            s.one(f"qlinear_conv_{kind}_{name}", "QLinearConv",
                  {"x": x, "xs": f(0.02), "xz": np.array(9, left), "w": w, **weight, "ys": f(1.3), "yz": np.array(7, left),
                   "b": s.ints(-9000, 9000, (6,), np.int32)}, constants=("w", "ws", "wz", "b"), opset=10, pads=[1, 0, 1, 2], strides=[2, 1])
        s.one(f"qlinear_conv_groups_{name}", "QLinearConv",
              {"x": x, "xs": f(0.02), "xz": np.array(9, left), "w": w[:, :2], **one, "ys": f(0.7), "yz": np.array(7, left)},
              constants=("w", "ws", "wz"), opset=10, group=2, strides=[1, 2], auto_pad="SAME_UPPER")
        s.one(f"qlinear_conv_depthwise_{name}", "QLinearConv",
              {"x": x, "xs": f(0.02), "xz": np.array(9, left), "w": w[:4, :1], **one, "ys": f(0.4), "yz": np.array(7, left)},
              constants=("w", "ws", "wz"), opset=10, group=4)
    for right in (np.uint8, np.int8):
        name = np.dtype(right).name
        x, w = s.ints(0, 256, (2, 4, 7, 6), np.uint8), s.ints(0, 128, (6, 4, 3, 3), right)
        s.one(f"conv_integer_{name}", "ConvInteger", {"x": x, "w": w}, constants=("w",), opset=10)
        s.one(f"conv_integer_zeros_{name}", "ConvInteger", {"x": x, "w": w, "xz": np.array(5, np.uint8), "wz": np.array(2, right)},
              opset=10, pads=[1, 1, 1, 1], strides=[2, 2])
    for kind in (np.uint8, np.int8):
        low = 0 if kind == np.uint8 else -128
        for last in (0, 1):
            s.one(f"qlinear_average_{np.dtype(kind).name}_{last}", "QLinearGlobalAveragePool",
                  {"x": s.ints(low, low + 256, (2, 5, 6, 7), kind), "xs": f(0.02), "xz": np.array(low + 100, kind),
                   "ys": f(0.013), "yz": np.array(low + 90, kind)}, domain=MS, channels_last=last)
    return s


def newest():
    s = Suite("newest", run_reference)
    f = np.float32
    for source, to, number in ((f, "i32", 6), (np.float64, "i64", 7), (np.float16, "i16", 5)):
        s.one(f"bitcast_to_{to}", "BitCast", {"x": s.f32(3, 21).astype(source)}, opset=26, to=number)
    s.one("bitcast_to_f32", "BitCast", {"x": s.ints(0, 2**30, (3, 21), np.int32)}, opset=26, to=1)
    s.one("bitcast_to_f16", "BitCast", {"x": s.ints(0, 30000, (3, 21), np.uint16)}, opset=26, to=10)
    s.one("bitcast_to_u8", "BitCast", {"x": s.ints(-128, 128, (3, 21), np.int8)}, opset=26, to=2)
    for kind in (f, np.float64, np.int32):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                x = s.ints(-3, 4, (2, 7, 3), kind) if kind == np.int32 else s.f32(2, 7, 3).astype(kind)
                s.one(f"cumprod_{np.dtype(kind).name}_{exclusive}{reverse}", "CumProd", {"x": x, "axis": np.array(1)},
                      constants=("axis",), opset=26, exclusive=exclusive, reverse=reverse)
    s.one("cumprod_any_axis", "CumProd", {"x": s.f32(2, 5, 4), "axis": np.array(-1)}, opset=26)
    for length in (8, 7, 1):
        spectrum = s.f32(2, length // 2 + 1, 3, 2)
        s.one(f"inverse_onesided_{length}", "DFT", {"x": spectrum, "n": np.array(length), "axis": np.array(1)},
              constants=("n", "axis"), opset=20, inverse=1, onesided=1)
    s.one("inverse_onesided_default", "DFT", {"x": s.f32(2, 5, 2)}, opset=17, inverse=1, onesided=1)
    s.one("inverse_onesided_cut", "DFT", {"x": s.f32(2, 9, 2), "n": np.array(8)}, constants=("n",), opset=17, inverse=1, onesided=1)
    x, w, b, past = s.f32(2, 5, 9), s.f32(5, 1, 4), s.f32(5), s.f32(2, 5, 3)
    for activation in ("none", "silu", "swish"):
        s.one(f"causal_conv_{activation}", "CausalConvWithState", {"x": x, "w": w, "b": b, "p": past}, 2, ("w", "b"), opset=27,
              activation=activation)
    s.one("causal_conv_begin", "CausalConvWithState", {"x": x, "w": w}, 2, opset=27)
    s.one("causal_conv_short", "CausalConvWithState", {"x": x[:, :, :2], "w": w, "b": None, "p": past}, 2, ("w",), opset=27)
    heads = {"q_num_heads": 6, "kv_num_heads": 3}
    q, k, v, state = s.f32(2, 5, 24), s.f32(2, 5, 12, scale=0.4), s.f32(2, 5, 15), s.f32(2, 3, 4, 5)
    decay, beta = -np.abs(s.f32(2, 5, 12)), s.f32(2, 5, 3)
    for rule in ("linear", "gated", "delta", "gated_delta"):
        inputs = {"q": q, "k": k, "v": v, "s": state, "d": decay if "gated" in rule else None, "b": beta if "delta" in rule else None}
        s.one(f"linear_attention_{rule}", "LinearAttention", inputs, 2, opset=27, update_rule=rule, **heads)
    s.one("linear_attention_begin", "LinearAttention",
          {"q": q, "k": k, "v": v, "s": None, "d": decay[:, :, :3], "b": beta[:, :, :1]}, 2, opset=27, scale=0.7, **heads)
    x, at = s.f32(2, 2, 2, 3), np.stack([np.sort(s.rng.choice(80, 12, replace=False)) for _ in range(2)])
    at = np.concatenate([at[0], 80 + at[1]]).reshape(2, 2, 2, 3)
    s.one("max_unpool", "MaxUnpool", {"x": x, "i": at}, opset=22, kernel_shape=[3, 4], strides=[2, 3], pads=[0, 1, 0, 1])
    s.one("max_unpool_shape", "MaxUnpool", {"x": x, "i": at, "s": np.array([2, 2, 6, 9])}, constants=("s",), opset=22,
          kernel_shape=[3, 4], strides=[2, 3], pads=[0, 1, 0, 1])
    double = lambda op: graph("mod", [node(op, ["s", "s"], ["t"])], [("s", "f32", [2, 6, 5, 7])], [("t", "f32", [2, 6, 5, 7])])
    inputs = {"q": s.f32(2, 6, 5, 8), "k": s.f32(2, 3, 7, 8), "v": s.f32(2, 3, 7, 4)}
    preview = {"domain": "ai.onnx.preview", "opset": 26}
    s.one("flex_attention", "FlexAttention", inputs, scale=0.3, **preview)
    s.one("flex_attention_scores", "FlexAttention", inputs, score_mod=double("Mul"), **preview)
    s.one("flex_attention_weights", "FlexAttention", inputs, prob_mod=double("Add"), **preview)
    s.one("flex_attention_both", "FlexAttention", inputs, score_mod=double("Add"), prob_mod=double("Mul"), **preview)
    return s


def integers():
    """What the element type decides."""
    s = Suite("integers", run_reference)
    large = np.array([[3000000000, 0], [4000000000, 4]], np.uint32)
    for op in ("ReduceMean", "ReduceL1"):
        s.one(f"{op}_u32".lower(), op, {"x": large[:, :1] if op == "ReduceL1" else large, "axes": np.array([1])},
              constants=("axes",), opset=18)
    s.one("reducemean_u64", "ReduceMean", {"x": np.array([2**63, 2**62], np.uint64)}, opset=18)
    s.one("reducemean_i32", "ReduceMean", {"x": s.ints(-10**6, 10**6, (3, 700), np.int32), "axes": np.array([1])}, constants=("axes",), opset=18)
    s.one("reducemean_i64_columns", "ReduceMean", {"x": s.ints(-10**6, 10**6, (300, 5)), "axes": np.array([0])}, constants=("axes",), opset=18)
    s.one("shrink_u8", "Shrink", {"x": np.arange(5).astype(np.uint8)}, lambd=1.5)
    s.one("shrink_i32", "Shrink", {"x": np.arange(-5, 6).astype(np.int32)}, lambd=1.5, bias=0.5)
    a, b = s.ints(-9, 10, (3, 4), np.int32), s.ints(-9, 10, (4, 5), np.int32)
    c = s.ints(-9, 10, (3, 5), np.int32)
    s.one("gemm_halves", "Gemm", {"a": a, "b": b, "c": c}, alpha=0.5, beta=1.25)
    s.one("gemm_double", "Gemm", {"a": a, "b": b, "c": c}, alpha=2.0, beta=-1.0)
    s.one("cube_f16", "Pow", {"x": (np.arange(64) / 64 + 1).astype(np.float16) + np.float16(0.01), "y": np.array(3, np.float16)}, constants=("y",), opset=15)
    s.one("onehot_f16", "OneHot", {"i": np.array([0, 2, -1]), "d": np.array(3, np.float16), "v": np.array([0, 1])}, constants=("d",), opset=11)
    return s


def main():
    folder, chosen = sys.argv[1], sys.argv[2:]
    for make in (contrib, quantization, quantized_images, recurrent, control_flow, newest, integers):
        if not chosen or make.__name__ in chosen:
            make().write(folder)


main()
