#!/bin/busybox sh
# The first process of a guest: mounts this machine's files under a layer of its own, makes the RDMA device, does the job, and ends the
# machine. On the console, lines that begin with "guest: " are for those who started it.
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox --install -s /bin
PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
fail() {
  echo "guest: failed: $*"
  poweroff -f
}
while read -r module; do insmod "$module" 2>/modules/error || echo "guest: note: $module: $(cat /modules/error)"; done < /modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,ro,cache=loose root /host || fail "no root by 9p"
mount -t tmpfs none /up && mkdir -p /up/upper /up/work
mount -t overlay -o lowerdir=/host,upperdir=/up/upper,workdir=/up/work none /root || fail "no layer over the root"
mount --move /proc /root/proc
mount --move /sys /root/sys
mount --move /dev /root/dev
mkdir -p /root/dev/shm /root/dev/pts
for place in /dev/shm /tmp /run; do mount -t tmpfs none /root$place; done
mount -t devpts none /root/dev/pts
for word in $(cat /root/proc/cmdline); do
  case $word in guest.address=*) address=${word#*=} ;; guest.name=*) name=${word#*=} ;; esac
done
hostname "$name"
ip link set lo up
ip link set eth0 up
ip address add "$address/24" dev eth0
printf '127.0.0.1 localhost\n10.0.5.1 guest1\n10.0.5.2 guest2\n' > /root/etc/hosts
cp /job /root/run/job
chroot /root /usr/bin/rdma link add rxe0 type rxe netdev eth0 || chroot /root /bin/rdma link add rxe0 type rxe netdev eth0 || fail "no RDMA device"
echo "guest: begins"
chroot /root /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  /bin/bash -c 'ulimit -l unlimited; exec /bin/bash /run/job' < /root/dev/null
echo "guest: ended with $?"
poweroff -f
