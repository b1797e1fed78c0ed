// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The mmap space of a context: the memory behind each offset, lent to the core
 * and, page by page as they touch it, to the programs that map it.
 *
 * Pages are counted: one that a program still maps is not given to anybody
 * else. They are ordinary ones, so that debuggers and process_vm_readv(2)
 * can read them. A mapping holds the file, and so the context and the module.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "driver.h"

#define AROUND 64 /* pages a fault brings at most */

/*
 * The nodes' inodes are shared by all who open them, or made twice. Mappings
 * of one context alone can be undone only if it has an address space alone.
 */
int fakegpu_space_init(struct fakegpu_file *file)
{
	init_rwsem(&file->space_lock);
	mt_init(&file->objects);
	if (file->node != FGPU_NODE_GPU)
		return 0;
	file->space = fakegpu_empty_file("fakegpu");
	return PTR_ERR_OR_ZERO(file->space);
}

/* The core has put back all it got. */
void fakegpu_space_exit(struct fakegpu_file *file)
{
	mtree_destroy(&file->objects);
	if (!IS_ERR_OR_NULL(file->space))
		fput(file->space);
}

void *fgpu_port_backing_get(void *backing, uint64_t offset, uint64_t length)
{
	struct fakegpu_file *file = backing;
	void *memory;
	int error;

	memory = __vmalloc(length,
			   GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!memory)
		return NULL;
	down_write(&file->space_lock);
	error = mtree_insert_range(&file->objects, offset >> PAGE_SHIFT,
				   ((offset + length) >> PAGE_SHIFT) - 1, memory, GFP_KERNEL);
	up_write(&file->space_lock);
	if (error) {
		vfree(memory);
		return NULL;
	}
	return memory;
}

/*
 * In /proc/PID/maps all contexts of a node look alike: the file is the node's.
 * So a mapping's offset, as the kernel keeps it, has the context's id above the
 * space's own bits, as many as leave it a positive loff_t.
 */
static unsigned long first_page(const struct fakegpu_file *file)
{
	return (file->id % FAKEGPU_MAPS_CONTEXTS) * (FAKEGPU_OFF_END >> PAGE_SHIFT);
}

static void unmap(struct fakegpu_file *file, loff_t offset, loff_t length)
{
	offset += (loff_t)first_page(file) << PAGE_SHIFT;
	unmap_mapping_range(file->space->f_mapping, offset, length, 1);
}

/* A program that still has it mapped gets SIGBUS from its next touch on. */
void fgpu_port_backing_put(void *backing, uint64_t offset, uint64_t length)
{
	struct fakegpu_file *file = backing;
	void *memory;

	down_write(&file->space_lock);
	memory = mtree_erase(&file->objects, offset >> PAGE_SHIFT);
	unmap(file, offset, length);
	up_write(&file->space_lock);
	vfree(memory);
}

/*
 * A fault that brought the page back before is over, and one that comes later
 * kicks the engine: space_lock leaves nothing in between.
 */
void fakegpu_space_trap(struct fakegpu_file *file)
{
	if (!READ_ONCE(file->bell_mapped))
		return;
	down_write(&file->space_lock);
	WRITE_ONCE(file->bell_mapped, false);
	unmap(file, FAKEGPU_OFF_DOORBELL, FAKEGPU_PAGE);
	up_write(&file->space_lock);
}

static vm_fault_t insert(struct vm_fault *vmf, void *memory, unsigned long pages)
{
	unsigned long address = vmf->address & PAGE_MASK;
	unsigned long i;
	int error;

	pages = min3(pages, (vmf->vma->vm_end - address) >> PAGE_SHIFT, (unsigned long)AROUND);
	for (i = 0; i < pages; i++) {
		error = vm_insert_page(vmf->vma, address + i * PAGE_SIZE,
				       vmalloc_to_page(memory + i * PAGE_SIZE));
		if (error && error != -EBUSY) /* EBUSY: another thread's fault did it */
			break;
	}
	return i ? VM_FAULT_NOPAGE : vmf_error(error);
}

/* fault: a program touches a page that it has mapped and does not have. */
static vm_fault_t space_fault(struct vm_fault *vmf)
{
	struct fakegpu_file *file = vmf->vma->vm_private_data;
	unsigned long page = vmf->pgoff - first_page(file);
	MA_STATE(mas, &file->objects, page, page);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	void *memory;

	down_read(&file->space_lock);
	mas_lock(&mas);
	memory = mas_walk(&mas);
	mas_unlock(&mas);
	if (memory)
		ret = insert(vmf, memory + (page - mas.index) * PAGE_SIZE, mas.last - page + 1);
	if (memory && page == FAKEGPU_OFF_DOORBELL >> PAGE_SHIFT) {
		WRITE_ONCE(file->bell_mapped, true);
		fakegpu_engine_kick(file->gpu);
	}
	up_read(&file->space_lock);
	return ret;
}

static const struct vm_operations_struct space_vm_ops = {
	.fault = space_fault,
};

/* mmap: anything may be mapped; what is there is seen when it is touched. */
int fakegpu_space_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct fakegpu_file *file = filp->private_data;

	BUILD_BUG_ON(PAGE_SIZE != FAKEGPU_PAGE);
	if (!file->space)
		return -ENODEV;
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_pgoff += first_page(file);
	vma->vm_private_data = file;
	vma->vm_ops = &space_vm_ops;
	return 0;
}
