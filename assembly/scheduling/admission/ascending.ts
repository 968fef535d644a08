// SPDX-License-Identifier: Apache-2.0
// Sorting small arrays of numbers in place, without a closure and without allocation.

/** Ciura's gaps: enough for a few hundred numbers. */
const GAPS: StaticArray<i32> = [132, 57, 23, 10, 4, 1];

/** Sorts the first `count` values (Shell sort). */
export function sortAscending(values: StaticArray<f64>, count: i32): void {
  for (let g = 0; g < GAPS.length; g++) {
    const gap = GAPS[g];
    for (let i = gap; i < count; i++) {
      const value = values[i];
      let j = i;
      for (; j >= gap && values[j - gap] > value; j -= gap) values[j] = values[j - gap];
      values[j] = value;
    }
  }
}

/** Sorts the first `count` indices by the values they point to. */
export function sortIndices(indices: StaticArray<i32>, values: StaticArray<f64>, count: i32): void {
  for (let g = 0; g < GAPS.length; g++) {
    const gap = GAPS[g];
    for (let i = gap; i < count; i++) {
      const index = indices[i];
      let j = i;
      for (; j >= gap && values[indices[j - gap]] > values[index]; j -= gap) {
        indices[j] = indices[j - gap];
      }
      indices[j] = index;
    }
  }
}
