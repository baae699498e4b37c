/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Small dense matrices, row by row, in memory of the caller.
 */
#ifndef HT_CORE_LINALG_H
#define HT_CORE_LINALG_H

#include "types.h"

/*
 * a becomes its factors P A = L U, by Gaussian elimination with partial
 * pivoting; pivot holds n row numbers. Returns 0, or -1 if a pivot is below
 * 1e-14 of the largest element that its column had (or not a number).
 */
int ht_lu_factor(double *a, double *pivot, ht_u32 n);

/* x becomes the solution of A x = right-hand side in x. */
void ht_lu_solve(const double *lu, const double *pivot, ht_u32 n, double *x);

/* y = A x + c y for a square A. */
void ht_multiply_add(const double *a, const double *x, double c, double *y, ht_u32 n);

/*
 * Whether all eigenvalues of a are smaller than limit > 0 in modulus, by the
 * bound |lambda| <= |A^m|^(1/m) for m = 1, 2, 4, ... 2^20, which comes down to
 * the largest modulus (Gelfand). Destroys a; work holds n^2.
 */
int ht_spectrum_below(double *a, double *work, ht_u32 n, double limit);

/*
 * a becomes exp(a), by scaling and squaring of the Taylor series; work holds
 * 2 n^2. Returns 0, or -1 if a is not finite. The relative error grows with
 * the norm of a, about 1e-16 |a|.
 */
int ht_matrix_exp(double *a, double *work, ht_u32 n);

#endif
