// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Runs `work` on a new detached thread.
func startThread(_ work: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(Box(work)).toOpaque()
    let failure = pthread_create(
        &thread,
        nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().work()
            return nil
        },
        argument
    )
    precondition(failure == 0, "no thread could be started: \(String(cString: strerror(failure)))")
    pthread_detach(thread)
}

/// Sets the kernel's name of the current thread; it keeps 15 bytes. Swift imports neither prctl nor pthread_setname_np.
func nameThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    write(file, name, name.utf8.count)
    close(file)
}
