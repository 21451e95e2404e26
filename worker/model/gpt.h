#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"
#include "worker/model/network.h"

namespace tandem::model {

// A decoder-only transformer in the manner of GPT-2 (Radford et al. 2019). With w = spec.width(),
// h = spec.heads(), T the tokens of a sample, V the vocabulary, C the classes, and matrices stored
// as outputs x inputs:
//
//   parameter                                    shape          what
//   transformer.wte.weight                       V x w          token embedding
//   transformer.wpe.weight                       T x w          position embedding
//   transformer.h.I.ln_1.weight, .bias           w              of block I, from 0
//   transformer.h.I.attn.c_attn.weight, .bias    3w x w, 3w     rows: queries, keys, values
//   transformer.h.I.attn.c_proj.weight, .bias    w x w, w
//   transformer.h.I.ln_2.weight, .bias           w
//   transformer.h.I.mlp.c_fc.weight, .bias       4w x w, 4w
//   transformer.h.I.mlp.c_proj.weight, .bias     w x 4w, w
//   transformer.ln_f.weight, .bias               w
//   lm_head.weight                               C x w          only without spec.tie_weights()
//
//   x = wte[token] + wpe[position]
//   for each block:
//     q, k, v = c_attn(ln_1(x)), each cut into h heads of w / h consecutive columns
//     a = softmax(q k^T / sqrt(w / h)) over the positions up to its own, for each head
//     x = x + attn.c_proj(the heads' a v side by side)
//     x = x + mlp.c_proj(gelu(c_fc(ln_2(x))))
//   scores = ln_f(x) lm_head^T, or ln_f(x) wte^T with tied weights
//
//   linear(x) = x W^T + b
//   ln(x) = (x - mean) / sqrt(variance + 1e-5) * weight + bias, over a token's w numbers, the
//           variance divided by w
//   gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
//
// Dropout follows the sum of embeddings, the softmax, and both c_proj. Initial weights, drawn after
// the layers have been created and in the order above: matrices from N(0, 0.02^2), those of both
// c_proj from N(0, 0.02^2 / (2 layers)); biases 0 and weights of ln 1.
//
//   InvalidArgument  a sample is no row of tokens with a class for each as targets, or weights are
//                    tied and classes are not the vocabulary.
absl::StatusOr<std::unique_ptr<Network>> CreateGpt(const v1::Gpt& spec,
                                                   const data::SampleShape& shape);

}  // namespace tandem::model
