import HTTPDNS

/// Services that answer in JSON.
enum JSONServices {
    static func free() throws -> [any Provider] {
        let google = try JSONDNSProvider(.init(name: "google", service: .google))
        let inHouse = try JSONDNSProvider(
            .init(
                name: "in-house",
                service: .google,
                url: "https://dns.shop.example/resolve",
                bootstrap: [IPAddress(v4: 203, 0, 113, 53)]
            )
        )

        return [google, inHouse]
    }

    static func paid() -> JSONDNSProvider.Service {
        let service = JSONDNSProvider.Service.alidns(
            account: "100000",
            accessKey: "LTAI-example",
            secret: .file("/run/secrets/alidns")
        )

        return service
    }
}
