// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension ServiceRecord: CustomStringConvertible {
    /// The data in presentation form (RFC 9460 section 2.1), such as `1 . alpn="h2,h3" port=8443`.
    package var description: String {
        (["\(priority)", "\(target)"] + parameters.keys.map(parameters.presentation)).joined(separator: " ")
    }
}

extension ServiceParameters {
    /// Returns `key=value` in presentation form; the key alone for an empty value.
    fileprivate func presentation(of key: ServiceParameterKey) -> String {
        switch key {
        case .mandatory: "\(key)=" + mandatory.map(\.description).joined(separator: ",")
        case .alpn:
            "\(key)=" + PresentationText.quoted(protocolList.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        case .noDefaultALPN: "\(key)"
        case .port: "\(key)=\(port ?? 0)"
        case .ipv4Hint: "\(key)=" + v4Hints.map(\.description).joined(separator: ",")
        case .ipv6Hint: "\(key)=" + v6Hints.map(\.description).joined(separator: ",")
        default: presentation(ofUninterpreted: key)
        }
    }

    private func presentation(ofUninterpreted key: ServiceParameterKey) -> String {
        let value = uninterpreted[key] ?? []
        if value.isEmpty { return "\(key)" }
        return "\(key)=" + (key == .ech ? Base64.text(value) : PresentationText.quoted(value))
    }

    /// The protocols as a list of values, in which a comma and a backslash are escaped (RFC 9460 appendix A.1).
    private var protocolList: String {
        protocols.map { name in
            name.unicodeScalars.reduce(into: "") { text, scalar in
                if scalar == "," || scalar == "\\" { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
        }.joined(separator: ",")
    }
}
