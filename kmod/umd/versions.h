/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which driver brought which CUDA version (Linux x86-64, NVIDIA's release
 * notes), and which runtime runs on which driver. Pure functions; no state.
 */
#ifndef FAKECUDA_VERSIONS_H
#define FAKECUDA_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/**
 * struct fakecuda_release - the first driver that offers a CUDA version
 * @cuda: 1000 * major + 10 * minor, as cuDriverGetVersion() tells it
 * @driver: driver version string
 */
struct fakecuda_release {
	int cuda;
	const char *driver;
};

static const struct fakecuda_release fakecuda_releases[] = {
	{11000, "450.51.06"}, {11010, "455.23"},    {11020, "460.27.03"}, {11030, "465.19.01"},
	{11040, "470.42.01"}, {11050, "495.29.05"}, {11060, "510.39.01"}, {11070, "515.43.04"},
	{11080, "520.61.05"}, {12000, "525.60.13"}, {12010, "530.30.02"}, {12020, "535.54.03"},
	{12030, "545.23.06"}, {12040, "550.54.14"}, {12050, "555.42.02"}, {12060, "560.28.03"},
	{12080, "570.26"},    {12090, "575.51.03"}, {13000, "580.65.06"}, {13010, "590.44.01"},
	{13020, "595.45.04"},
};

/* Minor-version compatibility: every N.x runtime runs on drivers from here on. */
static const struct fakecuda_release fakecuda_minimum[] = {
	{11000, "450.80.02"},
	{12000, "525.60.13"},
	{13000, "580.65.06"},
};

/* <0, 0, >0 like strcmp(), by number; a missing part counts as 0. */
static inline int fakecuda_version_compare(const char *a, const char *b)
{
	int x[3] = {0}, y[3] = {0};

	sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2]);
	sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2]);
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* The CUDA version a driver offers; 0 for one older than the table. */
static inline int fakecuda_of_driver(const char *driver)
{
	int cuda = 0;

	for (size_t i = 0; i < sizeof(fakecuda_releases) / sizeof(*fakecuda_releases); i++)
		if (fakecuda_version_compare(driver, fakecuda_releases[i].driver) >= 0)
			cuda = fakecuda_releases[i].cuda;
	return cuda;
}

/* "12.4" -> 12040; 0 when it is no version. */
static inline int fakecuda_number(const char *text)
{
	int major, minor;

	if (sscanf(text, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor * 10;
}

/* Does a runtime of version @cuda run on @driver? */
static inline bool fakecuda_runs_on(int cuda, const char *driver)
{
	if (fakecuda_of_driver(driver) >= cuda)
		return true;
	for (size_t i = 0; i < sizeof(fakecuda_minimum) / sizeof(*fakecuda_minimum); i++)
		if (fakecuda_minimum[i].cuda / 1000 == cuda / 1000)
			return fakecuda_version_compare(driver, fakecuda_minimum[i].driver) >= 0;
	return false;
}

#endif
