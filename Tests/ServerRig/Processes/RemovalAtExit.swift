// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

private let files = Lock<[String]>([])
private let registration: Void = {
    atexit {
        for file in files.withLock({ $0 }) { unlink(file) }
    }
}()

/// Removes a file when this process ends.
func removeAtExit(_ file: String) {
    _ = registration
    files.withLock { $0.append(file) }
}
