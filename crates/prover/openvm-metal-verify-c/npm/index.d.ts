/** The bytes of a file, or its text. */
export type Bytes = ArrayBuffer | ArrayBufferView | string;

/** The files of an aggregated proof. */
export interface Files {
  /** `NAME.stark.proof`, at most 64 MiB. */
  proof: Bytes;
  /** `NAME.stark.vk`, or `internal_recursive.vk` together with a baseline. At most 64 MiB. */
  key: Bytes;
  /** `NAME.baseline.json` or `NAME.commit.json`, which `openvm-metal commit` makes of the program. Without it the proof is
   * refused, unless `trustKey` is set. */
  expected?: Bytes | null;
  /** True if the key is your own. Compare the commitments of the result yourself. */
  trustKey?: boolean;
  /** Keys with fewer bits of security are refused. 80 unless given. */
  minSecurityBits?: number;
}

/** The statement of a valid proof: an execution of the program on the virtual machine ended with exit code 0 and revealed the
 * public values. */
export interface Verified {
  /** The commitment to the program: `0x` and 64 digits. */
  appExeCommit: string;
  /** The commitment to the virtual machine: `0x` and 64 digits. */
  appVmCommit: string;
  /** The bytes that the guest revealed: `0x` and digits. */
  publicValues: string;
  /** 0: proofs of others are refused. */
  exitCode: number;
  /** Of the weakest circuit if `isOfAllCircuits`, else of the last one. */
  securityBits: number;
  /** True if the file of the caller says the bits of all circuits. */
  isOfAllCircuits: boolean;
  /** The source that the proof was compared with. */
  comparedWith: "baseline" | "commitments" | "nothing";
  /** The time that the verification took. */
  seconds: number;
}

/** The reason why a proof is refused. Its message is that of `openvm-metal verify`. */
export class VerifyError extends Error {}

/**
 * Verifies an aggregated proof. It takes a moment: call it in a worker to keep a page alive.
 *
 * @throws {VerifyError} if the proof is refused.
 * @throws {TypeError} if an argument is of another type.
 */
export function verify(files: Files): Promise<Verified>;
