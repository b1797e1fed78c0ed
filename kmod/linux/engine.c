// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine thread, one a device: steps the core while there is work.
 *
 * A doorbell is a store that nobody is told of, so after work the thread looks
 * again and again. Once nothing has come for a while it takes the doorbell
 * pages out of the programs' page tables instead: the next store faults, which
 * wakes it. An idle device thus costs nothing, and a busy one no fault.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/timekeeping.h>

#include "driver.h"

#define SPIN_NS (50 * NSEC_PER_USEC)   /* look without a pause until this long after work */
#define QUIET_NS (5 * NSEC_PER_MSEC)   /* trap the doorbells after this */
#define PAUSE_NS (100 * NSEC_PER_USEC) /* between looks in between */

void fakegpu_engine_kick(struct fakegpu_device *gpu)
{
	set_bit(FAKEGPU_KICKED, &gpu->state);
	if (gpu->engine)
		wake_up_process(gpu->engine);
}

/* Sleeps until `until` (UINT64_MAX: for good); a kick ends it. */
static void rest(struct fakegpu_device *gpu, u64 until)
{
	ktime_t time = ns_to_ktime(until);

	set_current_state(TASK_IDLE);
	if (!test_bit(FAKEGPU_KICKED, &gpu->state) && !kthread_should_stop())
		schedule_hrtimeout_range(until == U64_MAX ? NULL : &time, 0, HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
}

static void trap_doorbells(struct fakegpu_device *gpu)
{
	struct fakegpu_file *file;
	unsigned long id;

	mutex_lock(&gpu->files_lock);
	xa_for_each(&gpu->files, id, file) fakegpu_space_trap(file);
	mutex_unlock(&gpu->files_lock);
}

static int engine(void *data)
{
	struct fakegpu_device *gpu = data;
	u64 last = ktime_get_ns(), now, next;
	bool trapped = false, stirred;

	while (!kthread_should_stop()) {
		stirred = test_and_clear_bit(FAKEGPU_KICKED, &gpu->state);
		next = fgpu_engine_step(gpu->core);
		now = ktime_get_ns();
		if (test_and_clear_bit(FAKEGPU_MOVED, &gpu->state) || stirred) {
			last = now;
			trapped = false;
		}
		if (!next) {
			cond_resched();
		} else if (trapped || !fgpu_engine_polls(gpu->core)) {
			rest(gpu, next);
		} else if (now - last < SPIN_NS) {
			cpu_relax();
			cond_resched();
		} else if (now - last < QUIET_NS) {
			rest(gpu, min_t(u64, next, now + PAUSE_NS));
		} else {
			/* One more step sees what was stored before; then it may sleep. */
			trap_doorbells(gpu);
			trapped = true;
		}
	}
	return 0;
}

int fakegpu_engine_start(struct fakegpu_device *gpu)
{
	struct task_struct *thread = kthread_create(engine, gpu, "fakegpu%u", gpu->index);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	gpu->engine = thread;
	wake_up_process(thread);
	return 0;
}

void fakegpu_engine_stop(struct fakegpu_device *gpu)
{
	kthread_stop(gpu->engine);
	gpu->engine = NULL;
}
