internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// The certificates of a server on the connection that this transfer made (CURLINFO_CERTINFO).
extension EasyHandle {
    /// The names in the server's own certificate: DNS names and addresses of its subjectAltName.
    var certificateNames: [String] {
        for line in certificateLines.first ?? [] where line.name == "X509v3 Subject Alternative Name" {
            return line.value.split(separator: ",").compactMap { entry in
                let parts = entry.split(separator: ":", maxSplits: 1)
                return parts.count == 2 ? String(parts[1]) : nil
            }
        }
        return []
    }

    /// The certificates in the order in which the server sent them, beginning with its own.
    var peerCertificates: [HTTPDNSTransfer.PeerCertificate] {
        certificateLines.map { lines in
            func value(_ name: String) -> String { lines.first { $0.name == name }.map { String($0.value) } ?? "" }
            return HTTPDNSTransfer.PeerCertificate(
                pem: value("Cert"),
                subject: value("Subject"),
                issuer: value("Issuer"),
                expires: value("Expire date")
            )
        }
    }

    /// The `Name:value` lines of each certificate.
    private var certificateLines: [[(name: Substring, value: Substring)]] {
        var certificates: UnsafeMutablePointer<curl_certinfo>?
        guard ccurl_get_certificates(curl, CURLINFO_CERTINFO, &certificates) == CURLE_OK, let certificates else {
            return []
        }
        return (0..<Int(certificates.pointee.num_of_certs)).map { index in
            var lines: [(name: Substring, value: Substring)] = []
            var node = certificates.pointee.certinfo[index]
            while let line = node {
                let text = String(cString: line.pointee.data)
                if let colon = text.firstIndex(of: ":") {
                    lines.append((text[..<colon], text[text.index(after: colon)...]))
                }
                node = line.pointee.next
            }
            return lines
        }
    }
}
