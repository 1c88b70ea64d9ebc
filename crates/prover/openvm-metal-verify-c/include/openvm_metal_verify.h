/* Verifier of OpenVM proofs: aggregated proofs of `openvm-metal prove stark` and cargo-openvm.
 *
 * Link with -lopenvm_metal_verify_c. The functions may be called from several threads. They print nothing, read no file, and a
 * failure inside of them is a refusal. */
#ifndef OPENVM_METAL_VERIFY_H
#define OPENVM_METAL_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What openvm_metal_verify returns. */
#define OPENVM_METAL_VALID 0            /* the proof is valid */
#define OPENVM_METAL_REFUSED 1          /* it is not; `error` says why */
#define OPENVM_METAL_INVALID_ARGUMENT 2 /* null with a length, or `out` is null */

/* The bits of security that are usually required. */
#define OPENVM_METAL_MIN_SECURITY_BITS 80.0

/* What a proof was compared with. */
#define OPENVM_METAL_COMPARED_WITH_NOTHING 0     /* the key was trusted: compare the commitments yourself */
#define OPENVM_METAL_COMPARED_WITH_COMMITMENTS 1 /* NAME.commit.json */
#define OPENVM_METAL_COMPARED_WITH_BASELINE 2    /* NAME.baseline.json */

/* The statement of a valid proof: an execution of the program on the virtual machine ended with exit code 0 and revealed the
 * public values. All but `error` is 0 if the proof is not valid. */
typedef struct openvm_metal_verified {
    char *error;                 /* null if valid, else a text in UTF-8 that ends with 0 */
    uint8_t app_exe_commit[32];  /* the commitment to the program, most significant byte first */
    uint8_t app_vm_commit[32];   /* the commitment to the virtual machine, most significant byte first */
    uint8_t *public_values;      /* the bytes that the guest revealed */
    size_t public_values_length; /* their number */
    uint32_t exit_code;          /* 0: proofs of others are refused */
    uint32_t compared_with;      /* OPENVM_METAL_COMPARED_WITH_... */
    double security_bits;        /* of the weakest circuit if is_of_all_circuits, else of the last one */
    uint32_t is_of_all_circuits; /* 1 if the file of the caller says the bits of all circuits, else 0 */
    double seconds;              /* the time that the verification took */
} openvm_metal_verified;

/* Verifies the bytes of files.
 *
 * proof     NAME.stark.proof, at most 64 MiB
 * key       NAME.stark.vk, or internal_recursive.vk together with a baseline; at most 64 MiB
 * expected  NAME.baseline.json or NAME.commit.json, which `openvm-metal commit` makes of the program; at most 1 MiB. Null with
 *           length 0 if there is none: then the proof is refused, unless `trust_key` is not 0 because the key is your own.
 * min_security_bits  keys with fewer bits are refused
 * out       is filled whatever is returned, unless it is null; openvm_metal_verified_free frees what it points to
 *
 * Each pointer has to point to as many readable bytes as its length says. */
int openvm_metal_verify(const uint8_t *proof, size_t proof_length, const uint8_t *key, size_t key_length,
                        const uint8_t *expected, size_t expected_length, int trust_key, double min_security_bits,
                        openvm_metal_verified *out);

/* Frees what `verified` points to, and empties it. Null, and what is empty already, is left alone. */
void openvm_metal_verified_free(openvm_metal_verified *verified);

#ifdef __cplusplus
}
#endif

#endif
