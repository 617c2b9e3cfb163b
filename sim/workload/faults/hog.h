/* SPDX-License-Identifier: MIT */
/* Noisy neighbours: spinning processes that one thread has to share its CPU with. */
#ifndef SIM_WORKLOAD_FAULTS_HOG_H
#define SIM_WORKLOAD_FAULTS_HOG_H

/*
 * hogs above 0: pins the calling thread to the last CPU that this process may use, together with so many spinning
 * processes; they end with this process. 0: keeps all threads of this process off that CPU. The victim's other
 * threads leave it too: in the stand-in some of them are its GPU, which no neighbour takes time from.
 * Ends the process with a message where there is only one CPU.
 */
void hog_share_cpu(int hogs);

#endif
