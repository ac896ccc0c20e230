"""Makes the two small models of this folder; needs the package onnx.

They have inputs and outputs like the surrogates of YAHPO Gym. Output j is the continuous input j
plus all categories, so that a test sees what goes where.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto
from onnx import helper
from onnx import numpy_helper
from onnx import save


HERE = Path(__file__).resolve().parent


def write(
    scenario: str, n_inputs: int, n_outputs: int, encoding: dict[str, dict[str, int]]
) -> None:
    weights = numpy_helper.from_array(np.eye(n_inputs, n_outputs, dtype=np.float32), "weights")
    axes = numpy_helper.from_array(np.array([1], np.int64), "axes")
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["categorical"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["numbers", "axes"], ["total"], keepdims=1),
            helper.make_node("MatMul", ["continuous", "weights"], ["linear"]),
            helper.make_node("Add", ["linear", "total"], ["outputs"]),
        ],
        scenario,
        [
            helper.make_tensor_value_info("categorical", TensorProto.INT32, ["n", len(encoding)]),
            helper.make_tensor_value_info("continuous", TensorProto.FLOAT, ["n", n_inputs]),
        ],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["n", n_outputs])],
        [weights, axes],
    )
    folder = HERE / scenario
    folder.mkdir(exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    save(model, folder / "model.onnx")
    (folder / "encoding.json").write_text(json.dumps(encoding, indent=2) + "\n")


write("lcbench", 8, 6, {"OpenML_task_id": {"34539": 3}})
write(
    "rbv2_xgboost",
    14,
    14,
    {
        "task_id": {"12": 5},
        "booster": {"gbtree": 1},
        "num.impute.selected.cpo": {"impute.mean": 2},
    },
)
