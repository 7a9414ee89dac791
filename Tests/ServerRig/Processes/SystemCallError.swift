// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A failed system call, with its name and reason.
public struct SystemCallError: Error, Sendable, CustomStringConvertible {
    /// The call, such as `posix_spawn nginx`.
    public let call: String
    /// The error number.
    public let number: Int32

    init(_ call: String, number: Int32 = errno) {
        self.call = call
        self.number = number
    }

    /// The text `call: reason`.
    public var description: String { "\(call): \(String(cString: strerror(number)))" }
}

/// Returns the result of a call; throws when it is -1.
@discardableResult
func checked(_ call: String, _ result: Int32) throws(SystemCallError) -> Int32 {
    guard result >= 0 else { throw SystemCallError(call) }
    return result
}
