/* A C program that uses every part of the header. Its argument is the folder of the files. */
#include "openvm_metal_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct file {
    uint8_t *bytes;
    size_t length;
} file;

static int failures = 0;

static void check(int holds, const char *what) {
    if (!holds) {
        printf("failed: %s\n", what);
        failures += 1;
    }
}

static file read_file(const char *folder, const char *name) {
    char path[4096];
    file result = {NULL, 0};
    FILE *stream;
    long length;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    stream = fopen(path, "rb");
    if (!stream || fseek(stream, 0, SEEK_END) != 0 || (length = ftell(stream)) < 0) {
        printf("%s cannot be read\n", path);
        exit(1);
    }
    rewind(stream);
    result.length = (size_t)length;
    result.bytes = malloc(result.length);
    check(result.bytes && fread(result.bytes, 1, result.length, stream) == result.length, "a file is read");
    fclose(stream);
    return result;
}

static void digits(const char *name, const uint8_t *bytes, size_t length) {
    size_t i;
    printf("%s ", name);
    for (i = 0; i < length; i++) printf("%02x", bytes[i]);
    printf("\n");
}

/* A refusal with this text. */
static void refused(int status, openvm_metal_verified *verified, const char *text) {
    check(status == OPENVM_METAL_REFUSED, text);
    check(verified->error && strstr(verified->error, text), verified->error ? verified->error : "no text");
    check(!verified->public_values && verified->public_values_length == 0, "a refusal has no public values");
    openvm_metal_verified_free(verified);
    check(!verified->error, "what is freed is empty");
    openvm_metal_verified_free(verified);
}

int main(int argc, char **argv) {
    const double bits = OPENVM_METAL_MIN_SECURITY_BITS;
    openvm_metal_verified verified;
    file proof, key, baseline, commit;
    size_t changed;
    int status;
    if (argc != 2) return 2;
    proof = read_file(argv[1], "fibonacci.stark.proof");
    key = read_file(argv[1], "fibonacci.stark.vk");
    baseline = read_file(argv[1], "fibonacci.baseline.json");
    commit = read_file(argv[1], "fibonacci.commit.json");

    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, baseline.bytes, baseline.length, 0, bits,
                                 &verified);
    check(status == OPENVM_METAL_VALID, verified.error ? verified.error : "valid");
    if (status != OPENVM_METAL_VALID) return 1;
    digits("valid: program", verified.app_exe_commit, sizeof verified.app_exe_commit);
    digits("machine", verified.app_vm_commit, sizeof verified.app_vm_commit);
    digits("values", verified.public_values, verified.public_values_length);
    printf("bits %.1f\n", verified.security_bits);
    check(verified.public_values_length == 32, "32 public values");
    check(verified.exit_code == 0, "exit code");
    check(verified.is_of_all_circuits == 1, "bits of all circuits");
    check(verified.compared_with == OPENVM_METAL_COMPARED_WITH_BASELINE, "a baseline");
    check(verified.seconds > 0.0 && verified.seconds < 600.0, "a time");
    openvm_metal_verified_free(&verified);
    check(!verified.public_values, "what is freed is empty");

    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, commit.bytes, commit.length, 0, bits, &verified);
    check(status == OPENVM_METAL_VALID && verified.compared_with == OPENVM_METAL_COMPARED_WITH_COMMITMENTS, "commitments");
    openvm_metal_verified_free(&verified);
    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, NULL, 0, 1, bits, &verified);
    check(status == OPENVM_METAL_VALID && verified.compared_with == OPENVM_METAL_COMPARED_WITH_NOTHING, "a trusted key");
    check(verified.is_of_all_circuits == 0, "bits of the last circuit");
    openvm_metal_verified_free(&verified);

    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, NULL, 0, 0, bits, &verified);
    refused(status, &verified, "a key of unknown origin");
    status = openvm_metal_verify(proof.bytes, proof.length / 2, key.bytes, key.length, NULL, 0, 1, bits, &verified);
    refused(status, &verified, "a proof cannot be taken from bytes");
    status = openvm_metal_verify(NULL, 0, NULL, 0, NULL, 0, 1, bits, &verified);
    refused(status, &verified, "a proof cannot be taken from bytes");
    status = openvm_metal_verify(proof.bytes, proof.length, proof.bytes, proof.length, NULL, 0, 1, bits, &verified);
    refused(status, &verified, "a verifying key cannot be taken from bytes");
    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, NULL, 0, 1, 120.0, &verified);
    refused(status, &verified, "at least 120 are required");
    changed = proof.length / 2;
    proof.bytes[changed] = proof.bytes[changed] == '1' ? '2' : '1';
    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, NULL, 0, 1, bits, &verified);
    refused(status, &verified, "the proof is not accepted");

    status = openvm_metal_verify(NULL, 1, key.bytes, key.length, NULL, 0, 1, bits, &verified);
    check(status == OPENVM_METAL_INVALID_ARGUMENT && verified.error, "null with a length");
    openvm_metal_verified_free(&verified);
    status = openvm_metal_verify(proof.bytes, SIZE_MAX, key.bytes, key.length, NULL, 0, 1, bits, &verified);
    check(status == OPENVM_METAL_INVALID_ARGUMENT && verified.error, "a length that no object has");
    openvm_metal_verified_free(&verified);
    status = openvm_metal_verify(proof.bytes, proof.length, key.bytes, key.length, NULL, 0, 1, bits, NULL);
    check(status == OPENVM_METAL_INVALID_ARGUMENT, "no room for the result");
    openvm_metal_verified_free(NULL);

    free(proof.bytes);
    free(key.bytes);
    free(baseline.bytes);
    free(commit.bytes);
    return failures != 0;
}
