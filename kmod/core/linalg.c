// SPDX-License-Identifier: GPL-2.0
/*
 * Small dense matrices. Golub & Van Loan, Matrix Computations: algorithm 3.4.1
 * (elimination with partial pivoting), section 9.3 (matrix exponential).
 */
#include "linalg.h"
#include "math.h"

static void swap_rows(double *a, ht_u32 n, ht_u32 i, ht_u32 j)
{
	ht_u32 k;

	for (k = 0; k < n; k++) {
		double t = a[i * n + k];

		a[i * n + k] = a[j * n + k];
		a[j * n + k] = t;
	}
}

static ht_u32 largest_below(const double *a, ht_u32 n, ht_u32 k)
{
	ht_u32 i, best = k;

	for (i = k + 1; i < n; i++)
		if (ht_fabs(a[i * n + k]) > ht_fabs(a[best * n + k]))
			best = i;
	return best;
}

int ht_lu_factor(double *a, double *pivot, ht_u32 n)
{
	ht_u32 i, j, k;

	/* Until its turn, pivot holds the largest element of the column. */
	for (j = 0; j < n; j++) {
		pivot[j] = 0.0;
		for (i = 0; i < n; i++)
			pivot[j] = ht_max(ht_fabs(a[i * n + j]), pivot[j]);
	}
	for (k = 0; k < n; k++) {
		ht_u32 best = largest_below(a, n, k);

		if (!(ht_fabs(a[best * n + k]) > 1e-14 * pivot[k]))
			return -1;
		pivot[k] = (double)best;
		if (best != k)
			swap_rows(a, n, k, best);
		for (i = k + 1; i < n; i++) {
			double factor = a[i * n + k] / a[k * n + k];

			a[i * n + k] = factor;
			for (j = k + 1; j < n; j++)
				a[i * n + j] -= factor * a[k * n + j];
		}
	}
	return 0;
}

void ht_lu_solve(const double *lu, const double *pivot, ht_u32 n, double *x)
{
	ht_u32 i, j;

	for (i = 0; i < n; i++) {
		ht_u32 from = ht_index(pivot[i], n - 1);
		double t = x[i];

		x[i] = x[from];
		x[from] = t;
	}
	for (i = 1; i < n; i++)
		for (j = 0; j < i; j++)
			x[i] -= lu[i * n + j] * x[j];
	for (i = n; i-- > 0;) {
		for (j = i + 1; j < n; j++)
			x[i] -= lu[i * n + j] * x[j];
		x[i] /= lu[i * n + i];
	}
}

void ht_multiply_add(const double *a, const double *x, double c, double *y, ht_u32 n)
{
	ht_u32 i, j;

	for (i = 0; i < n; i++) {
		double sum = 0.0;

		for (j = 0; j < n; j++)
			sum += *a++ * x[j];
		y[i] = sum + c * y[i];
	}
}

/* c = a b */
static void multiply(const double *a, const double *b, double *c, ht_u32 n)
{
	ht_u32 i, j, k;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++)
			c[i * n + j] = 0.0;
		for (k = 0; k < n; k++)
			for (j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
	}
}

static void scale(double *a, ht_u32 n, double factor)
{
	ht_u32 i;

	for (i = 0; i < n * n; i++)
		a[i] *= factor;
}

/* Largest sum of moduli of a row. */
static double norm(const double *a, ht_u32 n)
{
	double largest = 0.0;
	ht_u32 i, j;

	for (i = 0; i < n; i++) {
		double sum = 0.0;

		for (j = 0; j < n; j++)
			sum += ht_fabs(*a++);
		/* NaN must win */
		if (!(sum <= largest))
			largest = sum;
	}
	return largest;
}

int ht_spectrum_below(double *a, double *work, ht_u32 n, double limit)
{
	double log_limit = ht_log(limit);
	double log_bound = 0.0, weight = 1.0, size;
	ht_u32 i, j;

	for (i = 0; i <= 20; i++) {
		size = norm(a, n);
		if (!ht_finite(&size))
			return 0;
		if (size == 0.0 || (i == 0 && size < limit))
			return 1;
		log_bound += weight * ht_log(size);
		if (log_bound < log_limit)
			return 1;
		weight *= 0.5;
		/* A number is its own eigenvalue. */
		if (n == 1)
			return 0;
		scale(a, n, 1.0 / size);
		multiply(a, a, work, n);
		for (j = 0; j < n * n; j++)
			a[j] = work[j];
	}
	return 0;
}

int ht_matrix_exp(double *a, double *work, ht_u32 n)
{
	double *term = work;
	double *next = work + n * n;
	double size = norm(a, n);
	ht_u32 i, k, squarings = 0;

	if (!ht_finite(&size))
		return -1;
	for (; size > 0.5; size *= 0.5)
		squarings++;
	for (i = 0; i < squarings; i++)
		scale(a, n, 0.5);

	/* sum = 1 + a (1 + a/2 (1 + a/3 (...))), from the inside */
	for (i = 0; i < n * n; i++)
		term[i] = i % (n + 1) ? 0.0 : 1.0;
	for (k = 16; k > 0; k--) {
		multiply(a, term, next, n);
		for (i = 0; i < n * n; i++)
			term[i] = next[i] / (double)k + (i % (n + 1) ? 0.0 : 1.0);
	}
	for (k = 0; k < squarings; k++) {
		multiply(term, term, next, n);
		for (i = 0; i < n * n; i++)
			term[i] = next[i];
	}
	for (i = 0; i < n * n; i++)
		a[i] = term[i];
	return 0;
}
