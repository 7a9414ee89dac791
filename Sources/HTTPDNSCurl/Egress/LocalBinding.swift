// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

extension HTTPDNSTransfer.LocalSource {
    /// Binds a new socket to the local address, if it is one.
    ///
    /// libcurl quirk: A local address is looked up (7.88.1). CURLOPT_INTERFACE looks an address up like a name, so the
    /// socket callback binds the socket. Tests: LocalWayTests.
    /// - Returns: The system's error number and the failure of the transfer; `nil` when the socket can be used.
    func bind(_ descriptor: Int32, family: Int32) -> (number: Int32, failure: TransferFailure)? {
        guard case .address(let address) = self, family == AF_INET || family == AF_INET6 else { return nil }
        guard (family == AF_INET) == (address.family == .v4) else {
            // Other endpoints may have the right family.
            let failure = TransferFailure(
                code: .connectFailed,
                phase: .connect,
                message: "the endpoint is of another family than the local address \(address)"
            )
            return (EAFNOSUPPORT, failure)
        }
        let number = bindSocket(descriptor, to: address)
        return number == 0 ? nil : (number, unusable(systemErrorText(number)))
    }

    /// Returns the failure of a transfer that the source cannot be used for.
    func unusable(_ reason: String) -> TransferFailure {
        let what =
            switch self {
            case .interface(let name): "the network interface \(name.escaped(limit: 40))"
            case .address(let address): "the local address \(address)"
            }
        return TransferFailure(
            code: .localSourceUnusable,
            phase: .connect,
            message: "\(what) cannot be used: \(reason)"
        )
    }
}

/// - Returns: The system's error number; 0 on success.
private func bindSocket(_ descriptor: Int32, to address: HTTPDNSAddress) -> Int32 {
    // Without this the kernel would reserve a port immediately, and one address has only a limited number.
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &one, socklen_t(MemoryLayout<Int32>.size))
    return HTTPDNSEndpoint(address: address, port: 0).withSocketAddress {
        Glibc.bind(descriptor, $0, $1) == 0 ? 0 : errno
    }
}
