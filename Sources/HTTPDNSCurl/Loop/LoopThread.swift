// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// Threads for loops: named, detached, and with all signals blocked except faults; the others are the application's.
enum LoopThread {
    /// - Returns: Whether the system created the thread.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let box = Unmanaged.passRetained(
            Box {
                var signals = sigset_t()
                sigfillset(&signals)
                // A blocked fault of the thread itself would end the process without a hint of its location.
                for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&signals, fault) }
                pthread_sigmask(SIG_SETMASK, &signals, nil)
                // The kernel keeps 15 bytes of a name.
                let name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
                ccurl_name_thread(name)
                body()
            }
        )
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            box.toOpaque()
        )
        guard result == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}

/// The processor cores of the machine.
package enum ProcessorCores {
    /// The number of cores that this process may use (sched_getaffinity(2)); 1 when the system does not report it.
    package static let usable: Int = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { bits in
        bits.initializeMemory(as: UInt8.self, repeating: 0)
        guard ccurl_get_affinity(bits.baseAddress, bits.count) > 0 else { return 1 }
        return max(1, bits.reduce(0) { $0 + $1.nonzeroBitCount })
    }
}
