// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSTrafficMonitor {
    /// The error of a file of a monitor.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The path of the file or folder.
        public let path: String
        /// The reason and a suggestion, with the path.
        public let message: String
        /// The message.
        public var description: String { message }

        init(path: String, _ reason: String) {
            self.path = path
            message = "\"\(path.escaped(limit: 200))\": \(reason)"
        }
    }
}
