// SPDX-License-Identifier: MIT
/*
 * Starts two commands in turns and prints what each start took, wall clock to
 * its end, and the largest resident set of it and what it waited for.
 *
 *   starts RUNS COMMAND… -- COMMAND…
 *   starts --true                      is what both start
 *
 * Small and static: the memory that a child has before it executes is ours.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct seen {
	double ms;
	long kib;
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct seen start(char **command)
{
	double began = now_ms();
	struct rusage usage;
	pid_t pid = fork();
	int status;

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status) {
		fprintf(stderr, "starts: %s failed\n", command[0]);
		exit(1);
	}
	return (struct seen){now_ms() - began, usage.ru_maxrss};
}

static void print(const char *name, const struct seen *seen, int runs)
{
	int i;

	printf("\"%s_ms\":[", name);
	for (i = 0; i < runs; i++)
		printf("%s%.3f", i ? "," : "", seen[i].ms);
	printf("],\"%s_kib\":[", name);
	for (i = 0; i < runs; i++)
		printf("%s%ld", i ? "," : "", seen[i].kib);
	printf("]");
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 0, i;
	struct seen *ours = calloc((size_t)(runs > 0 ? runs : 1), sizeof(*ours));
	struct seen *theirs = calloc((size_t)(runs > 0 ? runs : 1), sizeof(*theirs));
	char **second = NULL;

	if (argc == 2 && !strcmp(argv[1], "--true"))
		return 0;
	for (i = 2; i < argc && !second; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		argv[i] = NULL;
		second = argv + i + 1;
	}
	if (runs < 1 || !second || !*second || !ours || !theirs) {
		fprintf(stderr, "usage: starts RUNS COMMAND… -- COMMAND…\n");
		return 2;
	}
	start(argv + 2), start(second); /* warms up */
	for (i = 0; i < runs; i++) {
		if (i % 2)
			theirs[i] = start(second);
		ours[i] = start(argv + 2);
		if (!(i % 2))
			theirs[i] = start(second);
	}
	printf("{\"bench\":\"starts\",");
	print("ours", ours, runs);
	printf(",");
	print("theirs", theirs, runs);
	printf("}\n");
	return 0;
}
