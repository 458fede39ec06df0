// Command connect_ip is a client of others for IP packets: it asks an exit for addresses, and sends echoes through it.
//
// Usage: connect_ip HOST:PORT TOKEN TARGET ...
//
// It prints the addresses, the routes, and for each target what came back: the type of the message and who sent it.
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"time"

	connectip "github.com/quic-go/connect-ip-go"
	"github.com/yosida95/uritemplate/v3"
)

const patience = 20 * time.Second

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func run(exit, token string, targets []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	template, err := uritemplate.New("https://" + exit + "/.well-known/masque/ip/*/*/")
	if err != nil {
		return err
	}
	request, err := connectip.NewRequest(ctx, template)
	if err != nil {
		return err
	}
	request.Header().Set("Proxy-Authorization", "Bearer "+token)
	transport := connectip.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}}
	conn, response, err := transport.Dial(request)
	if err != nil {
		if response != nil {
			fmt.Println("refused", response.StatusCode, response.Header.Get("Proxy-Status"))
			return nil
		}
		return err
	}
	defer conn.Close()
	own, err := addresses(ctx, conn)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if err := echo(conn, own, netip.MustParseAddr(target)); err != nil {
			return err
		}
	}
	return nil
}

// addresses gives what the exit assigns by itself, and what it assigns when it is asked for other addresses.
func addresses(ctx context.Context, conn *connectip.Conn) ([]netip.Addr, error) {
	assigned, err := conn.ReceiveAddressAssignment(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Println("assigned", assigned)
	routes, err := conn.Routes(ctx)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		fmt.Println("route", route.StartIP, route.EndIP, route.IPProtocol)
	}
	wanted := []netip.Prefix{netip.MustParsePrefix("10.77.0.99/32"), netip.MustParsePrefix("10.77.0.98/32")}
	if _, err := conn.RequestAddresses(wanted); err != nil {
		return nil, err
	}
	assigned, err = conn.ReceiveAddressAssignment(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Println("asked", assigned)
	var own []netip.Addr
	for _, one := range assigned {
		if !one.Rejected() {
			own = append(own, one.IPPrefix.Addr())
		}
	}
	return own, nil
}

func echo(conn *connectip.Conn, own []netip.Addr, target netip.Addr) error {
	for _, source := range own {
		if source.Is4() != target.Is4() {
			continue
		}
		if _, err := conn.WritePacket(packet(source, target)); err != nil {
			return err
		}
		buffer := make([]byte, 2000)
		length, err := conn.ReadPacket(buffer)
		if err != nil {
			return err
		}
		answer := buffer[:length]
		if target.Is4() {
			from, _ := netip.AddrFromSlice(answer[12:16])
			fmt.Println("answer", answer[20], answer[21], from)
		} else {
			from, _ := netip.AddrFromSlice(answer[8:24])
			fmt.Println("answer", answer[40], answer[41], from)
		}
	}
	return nil
}

// packet makes an echo of ICMP.
func packet(source, target netip.Addr) []byte {
	message := []byte{8, 0, 0, 0, 0, 7, 0, 1, 'e', 'c', 'h', 'o'}
	if target.Is4() {
		binary.BigEndian.PutUint16(message[2:], checksum(message))
		head := []byte{0x45, 0, 0, byte(20 + len(message)), 0, 1, 0x40, 0, 64, 1, 0, 0}
		head = append(append(head, source.AsSlice()...), target.AsSlice()...)
		binary.BigEndian.PutUint16(head[10:], checksum(head))
		return append(head, message...)
	}
	message[0] = 128
	ends := append(source.AsSlice(), target.AsSlice()...)
	pseudo := append(append([]byte{}, ends...), 0, 0, 0, byte(len(message)), 0, 0, 0, 58)
	binary.BigEndian.PutUint16(message[2:], checksum(append(pseudo, message...)))
	head := append([]byte{0x60, 0, 0, 0, 0, byte(len(message)), 58, 64}, ends...)
	return append(head, message...)
}

// checksum sums the words of some bytes, of which there is an even number.
func checksum(bytes []byte) uint16 {
	var sum uint32
	for at := 0; at < len(bytes); at += 2 {
		sum += uint32(binary.BigEndian.Uint16(bytes[at:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
