// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPTypes

extension HTTPDNSTrafficMonitor.Record {
    /// The memory that the record takes, estimated: its texts, and the size of its fixed parts.
    var estimatedBytes: Int {
        let texts = [url.utf8.count, failure?.message.utf8.count ?? 0].reduce(0, +)
        let bodies = (requestBody?.storedBytes ?? 0) + (responseBody?.storedBytes ?? 0)
        return MemoryLayout<Self>.stride + texts + bodies + hops.reduce(0) { $0 + $1.estimatedBytes }
    }
}

extension HTTPDNSTrafficMonitor.Body {
    fileprivate var storedBytes: Int { (text ?? base64 ?? "").utf8.count }
}

extension HTTPDNSTrafficMonitor.Hop {
    fileprivate var estimatedBytes: Int {
        let fields = [requestFields, responseFields].reduce(0) { $0 + CallDetails.Messages.estimatedBytes(of: $1) }
        let attempts = addresses.attempts.reduce(0) { $0 + MemoryLayout.size(ofValue: $1) + $1.failure.utf8.count }
        // An address with its port has at most 47 characters.
        let lists = addresses.candidates.count * (MemoryLayout<String>.stride + 48) + attempts
        let texts = url.utf8.count + reason.utf8.count + (failure?.message.utf8.count ?? 0)
        return MemoryLayout<Self>.stride + fields + lists + texts + (requestBody?.storedBytes ?? 0)
    }
}
