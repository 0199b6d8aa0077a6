// SPDX-License-Identifier: Apache-2.0
// Bindings of the driver's arithmetic on sums by leaf, for a run with one shard here: what Shard's messages
// and a few lines of Python would do, in one call each.
#include <cmath>

#include "bind_shard.hpp"
#include "blocks.hpp"
#include "leaf_solver.hpp"
#include "leaf_table.hpp"

namespace tada {
namespace {

using namespace nb::literals;

using Ids = Array<const std::int32_t, 1>;
using Values = Array<const double, 1>;
using TableArray = Array<const double, 3>;  // (leaves, 2, 5): the fields of LeafSums

LeafTable table_from(const TableArray& array, std::size_t n_leaves) {
  require(array.shape(0) == n_leaves && array.shape(1) == 2 && array.shape(2) == 5,
          "table: shape must be (leaves, 2, 5)");
  LeafTable out;
  for (const double* p = array.data(); out.size() < 2 * n_leaves; p += 5)
    out.push_back({p[0], p[1], p[2], p[3], p[4]});
  return out;
}

// Also puts the states in the order of the leaves, for the solvers.
nb::object leaf_table(Shard& shard, Ids leaves, double unit, double most_multiplicity) {
  const auto ids = checked_leaves(shard, leaves);
  std::vector<double> out;
  {
    nb::gil_scoped_release released;
    const auto found = shard.leaf_extremes(ids);
    std::vector<std::int32_t> exponent;
    for (const LeafExtremes& x : found) {
      const double multiplicity = static_cast<double>(x.count) * unit;
      exponent.push_back(
          exact_exponent(most_multiplicity_of(multiplicity, most_multiplicity) * fast::exp(x.most)));
    }
    const auto sums = shard.leaf_sums(ids, const_view(exponent));
    for (std::size_t i = 0; i < found.size(); ++i)
      out.insert(out.end(), {sums[i].value(exponent[i]), static_cast<double>(found[i].count) * unit,
                             static_cast<double>(found[i].off) * unit, found[i].least, found[i].most});
  }
  return to_numpy(std::move(out), {leaves.size(), 2, 5});
}

nb::tuple edge_sums_of(TableArray table, Values value, double t) {
  const EdgeSums e = edge_sums(table_from(table, value.size()), value.data(), 1.0 - t);
  return nb::make_tuple(e.largest_ratio, e.edge, e.off_edge, e.off_largest, e.off);
}

Trial trial_on(Shard& shard, View<const std::int32_t> ids) {
  return [&shard, ids](const auto& leaves, const auto& value, const auto& exponent,
                       const auto& slope_exponent, const auto& slope_cap) {
    std::vector<std::int32_t> some;
    for (auto i : leaves) some.push_back(ids[static_cast<std::size_t>(i)]);
    return shard.trial(const_view(some), const_view(value), const_view(exponent), const_view(slope_exponent),
                       const_view(slope_cap));
  };
}

nb::object solve_leaves_here(Shard& shard, Ids leaves, TableArray table, double ridge, double cap,
                             double most_multiplicity) {
  const auto ids = gathered_leaves(shard, leaves);
  const auto sums = table_from(table, ids.size);
  require(ridge >= 0.0 && std::isfinite(ridge), "ridge: must be finite and >= 0");
  check_solver(cap, most_multiplicity);
  std::vector<double> v;
  {
    nb::gil_scoped_release released;
    v = solve_leaves(sums, shard.s(), ridge, cap, most_multiplicity, trial_on(shard, ids));
  }
  return to_numpy(std::move(v));
}

double solve_step_here(Shard& shard, Ids leaves, Values value, TableArray table, double start, double cap,
                       double most_multiplicity) {
  const auto ids = gathered_leaves(shard, leaves);
  const auto values = checked_values(value, ids.size);
  const auto sums = table_from(table, ids.size);
  check_solver(cap, most_multiplicity);
  nb::gil_scoped_release released;
  return solve_step(sums, {values.begin(), values.end()}, shard.s(), start, cap, most_multiplicity,
                    trial_on(shard, ids));
}

// sum w e^(2-t), sum w e; least and most e^(2-t); most e, most of what fixed-point weights are made from;
// multiplicity (in counts) that is off and that is wrong; rows that are off and that are capped.
nb::tuple step_here(Shard& shard, Ids leaves, Values value, TableArray table, double alpha, double clip,
                    double most_multiplicity) {
  const auto ids = all_leaves(shard, leaves);
  const auto values = checked_values(value, ids.size, alpha);
  require(clip > 0.0, "clip: must be positive");
  const auto sums = table_from(table, ids.size);
  Moments m;
  int exponent = 0, loss_exponent = 0;
  {
    nb::gil_scoped_release released;
    double most = 0.0, most_loss = 0.0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double c = alpha * values[i / 2];
      const double after = most_after(sums[i], i % 2 == 0 ? c : -c, shard.s());
      const double multiplicity = most_multiplicity_of(sums[i].multiplicity, most_multiplicity);
      if (!(multiplicity > 0.0)) continue;
      most = std::max(most, multiplicity * fast::exp(after));
      most_loss = std::max(most_loss, multiplicity * fast::exp((1.0 + shard.s()) * after));
    }
    exponent = exact_exponent(most);
    loss_exponent = exact_exponent(most_loss);
    m = shard.step(ids, values, alpha, clip, exponent, loss_exponent);
  }
  return nb::make_tuple(m.loss.value(loss_exponent), m.weight.value(exponent), m.least, m.most, m.most_weight,
                        m.most_fixed, m.off, m.wrong, m.n_off, m.n_capped);
}

}  // namespace

void bind_leaves(nb::module_& m) {
  m.def("leaf_table", &leaf_table, "shard"_a, "leaves"_a.noconvert(), "unit"_a, "most_multiplicity"_a);
  m.def("edge_sums", &edge_sums_of, "table"_a.noconvert(), "value"_a.noconvert(), "t"_a);
  m.def("solve_leaves", &solve_leaves_here, "shard"_a, "leaves"_a.noconvert(), "table"_a.noconvert(),
        "ridge"_a, "cap"_a, "most_multiplicity"_a);
  m.def("solve_step", &solve_step_here, "shard"_a, "leaves"_a.noconvert(), "value"_a.noconvert(),
        "table"_a.noconvert(), "start"_a, "cap"_a, "most_multiplicity"_a);
  m.def("step", &step_here, "shard"_a, "leaves"_a.noconvert(), "value"_a.noconvert(), "table"_a.noconvert(),
        "alpha"_a, "clip"_a, "most_multiplicity"_a);
}

}  // namespace tada
