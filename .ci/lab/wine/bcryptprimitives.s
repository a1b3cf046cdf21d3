# bcryptprimitives.dll for Wine before 9: the runtime of Go asks its ProcessPrng for random bytes.
# BOOL ProcessPrng(PBYTE buffer, SIZE_T length), from RDRAND.
	.intel_syntax noprefix
	.section .drectve
	.ascii " -export:ProcessPrng"
	.text
	.globl ProcessPrng
ProcessPrng:
	test	rdx, rdx
	jz	3f
1:	rdrand	rax
	jnc	1b
	mov	r8d, 8
2:	mov	byte ptr [rcx], al
	shr	rax, 8
	inc	rcx
	dec	rdx
	jz	3f
	dec	r8d
	jnz	2b
	jmp	1b
3:	mov	eax, 1
	ret
