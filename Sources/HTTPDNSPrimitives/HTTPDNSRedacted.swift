// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A value with content that no log may show. Printed, interpolated, dumped or reflected, it shows its `description` alone.
public protocol HTTPDNSRedacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension HTTPDNSRedacted {
    /// The same text as `description`.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
