// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNSCore

extension [HTTPDNSMapping.Key: HTTPDNSMapping] {
    /// The names with mappings for a port, or to one, in order: a lookup of a name has no port.
    var withPorts: [String] {
        filter { key, mapping in
            guard case .addresses(let targets)? = mapping.action else { return false }
            return key.port != nil || targets.contains { $0.port != nil }
        }
        .keys.map { "\($0)" }.sorted()
    }
}
#endif
